"""The analysis of captured pages by a crawl specification: scores of pages and of their links."""
