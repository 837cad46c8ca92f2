"""Checks of an archive: its indices against each other, and against CDX files."""
