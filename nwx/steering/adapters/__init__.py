"""Crawlers that take URLs from the queue: Heritrix, Scrapy, and readers of seed files."""
