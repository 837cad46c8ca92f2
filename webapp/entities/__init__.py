"""Facts of pages: SPARQL queries, and the entities that pages mention."""
