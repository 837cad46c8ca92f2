"""What is extracted from the records of archive files: metadata (WAT), texts (WET), tables."""
