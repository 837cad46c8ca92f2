"""An archive in the indices of a search server: what Elasticsearch and OpenSearch share."""
