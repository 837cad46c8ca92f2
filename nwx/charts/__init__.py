"""Charts of facet answers: written once, drawn in the explorer, in Kibana and on paper."""
