"""The CDX server: queries in three dialects, answered from any source.

`parsing` turns parameters into a `Query`, `selecting` finds its rows in `sources`, `output`
writes them. Independent of HTTP.
"""
