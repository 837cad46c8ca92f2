"""Charts of facet answers: defined once, drawn in the explorer, in Kibana and in pictures."""
