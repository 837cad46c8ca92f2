"""Maintenance of an archive: checks of its indices, its files and sizes, backups, takedown."""
