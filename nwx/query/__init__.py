"""Queries: the parser of Lucene syntax and the small tree that it builds."""
