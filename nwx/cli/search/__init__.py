"""Commands that search, render and serve an archive."""
