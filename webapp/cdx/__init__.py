"""The CDX server, Memento and crawl-time deduplication over HTTP."""
