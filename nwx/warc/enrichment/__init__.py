"""What records of archive files say of a capture, and payloads, that are stored elsewhere."""
