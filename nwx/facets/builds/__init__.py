"""Building of the stored facets."""
