"""Commands that measure an archive."""
