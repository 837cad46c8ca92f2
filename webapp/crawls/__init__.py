"""Crawl specifications: their list, their editor, and the links that they score highest."""
