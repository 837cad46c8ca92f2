"""The documents of an archive in a folder: writing, search, facets."""
