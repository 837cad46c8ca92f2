"""The index quality on a server."""
