"""An archive in the indices of a search server: code shared by Elasticsearch and OpenSearch."""
