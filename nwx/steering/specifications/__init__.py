"""Crawl specifications: what a crawl is about, read from files, checked and written."""
