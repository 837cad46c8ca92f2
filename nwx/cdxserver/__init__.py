"""A CDX server independent of HTTP: queries in three dialects, answered from any source.

`query_parser` converts parameters to a `CdxQuery`, `selection` finds its rows in `sources`, and
`output` writes them.
"""
