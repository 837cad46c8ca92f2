"""Inlinks of an archive on a server."""
