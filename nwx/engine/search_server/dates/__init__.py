"""The dates indices of an archive."""
