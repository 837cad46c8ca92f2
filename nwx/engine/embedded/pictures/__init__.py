"""The index pictures of an archive in a folder, in an SQLite file of its own."""
