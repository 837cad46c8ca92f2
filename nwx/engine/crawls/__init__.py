"""Where an engine keeps crawl specifications, and the scores of documents and links."""
