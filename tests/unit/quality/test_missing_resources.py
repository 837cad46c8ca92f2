"""Pairs of pages and what they lack."""
