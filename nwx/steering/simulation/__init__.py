"""Simulated crawls: an archive as the web, crawled in several orders."""
