"""Lists of documents that meet a condition: kept, and sent to a search server."""
