"""Commands that find and leave out duplicates."""
