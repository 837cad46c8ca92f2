"""Crawls compared: two collections, or one and its specification."""
