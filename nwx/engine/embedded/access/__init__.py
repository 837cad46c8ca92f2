"""The index access in a folder."""
