"""The documents of an archive on a search server: writing, searching and counting."""
