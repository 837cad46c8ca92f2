"""Small entries of an archive in a folder: a file of SQLite for each of their indices."""
