"""Crawl specifications, the analysis of captured pages, and the queue of a crawler."""
