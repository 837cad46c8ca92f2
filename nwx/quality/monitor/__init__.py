"""A crawl as it runs: sums of what it fetches, and alerts, kept in the archive for all to read."""
