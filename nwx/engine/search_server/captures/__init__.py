"""Captures on a search server."""
