"""Commands for finding and leaving out duplicates."""
