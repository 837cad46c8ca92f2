"""Crawl specifications, the analysis of captured pages by them, and what a crawler is told."""
