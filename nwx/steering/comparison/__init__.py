"""Comparison of two collections, of one with its specification, and of simulated crawls."""
