"""All documents that a query finds, and those of them that come first."""
