"""The index of captures as a service: questions of three dialects, answered from any source.

`parsing` turns parameters into a `Query`, `selecting` finds its rows in
`sources`, `output` writes them. Nothing here knows HTTP.
"""
