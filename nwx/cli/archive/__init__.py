"""Commands that maintain an archive."""
