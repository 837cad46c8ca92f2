"""What processes that read prepare for the one writer of an archive."""
