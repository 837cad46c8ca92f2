"""The documents of an archive: written, searched, counted."""
