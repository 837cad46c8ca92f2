"""Facts about captured pages in a store of RDF triples, each graph named by its capture."""
