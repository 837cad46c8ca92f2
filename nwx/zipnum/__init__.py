"""ZipNum clusters: capture indexes in compressed blocks, for billions of lines."""
