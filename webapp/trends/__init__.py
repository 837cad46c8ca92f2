"""Queries over time, and the words of a selection."""
