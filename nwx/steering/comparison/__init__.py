"""Comparison of two collections, or of one with its specification."""
