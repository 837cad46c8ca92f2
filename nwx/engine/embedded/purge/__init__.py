"""Entries taken out of the files of a folder for good."""
