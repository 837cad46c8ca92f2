"""The captures of an archive, in CDX order and by digest."""
