"""Crawl specifications: reading, checking and storing what a crawl is about."""
