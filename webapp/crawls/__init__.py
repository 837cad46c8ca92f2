"""Crawl specifications: the list, the editor, and the links with the highest scores."""
