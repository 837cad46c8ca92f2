"""Renders in an archive: found for a capture of a page, and read."""
