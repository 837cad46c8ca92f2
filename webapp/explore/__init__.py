"""The explorer: facet questions as charts and tables."""
