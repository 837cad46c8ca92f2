"""Link rules of a crawl specification, compiled."""
