"""Entries taken out of the files of a server for good."""
