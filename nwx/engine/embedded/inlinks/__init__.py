"""Inlinks of an archive in a folder."""
