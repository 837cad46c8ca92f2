"""Commands that ask an archive, and serve it."""
