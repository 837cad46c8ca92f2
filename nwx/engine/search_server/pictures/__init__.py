"""The index pictures on a server."""
