"""Building what facet questions are answered from."""
