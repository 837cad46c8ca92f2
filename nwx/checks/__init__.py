"""Checking an archive: its indices against each other, and against what CDX files list."""
