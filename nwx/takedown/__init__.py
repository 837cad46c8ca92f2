"""Takedown of captures: hidden at once, and purged from all indices."""
