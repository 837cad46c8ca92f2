"""Which URLs are due to be captured again, by intervals that are given or estimated."""
