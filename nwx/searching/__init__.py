"""Search in an archive, and documents with their versions and dates."""
