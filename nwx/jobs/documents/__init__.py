"""Jobs about documents: their extraction from archive files, and their links."""
