"""Stored inlinks: tables of one build, read by all engines."""
