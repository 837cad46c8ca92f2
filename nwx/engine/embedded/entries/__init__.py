"""Small entries of an archive in a folder: one SQLite file per index."""
