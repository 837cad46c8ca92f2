"""Queries: a small tree, and the parser of Lucene syntax that builds it."""
