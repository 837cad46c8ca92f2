"""Shared code of all pages: context, parameters, words, errors, preferences."""
