"""The index access on a server."""
