"""Answers of the public API: lazy tables of archive contents, and their notebook display."""
