"""The index crawls on a server."""
