"""WARC files written anew with revisit records for their duplicates, and proved to be right."""
