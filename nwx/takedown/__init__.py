"""Captures taken out of an archive: hidden at once, and purged from all indices."""
