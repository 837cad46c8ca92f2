"""Queries of the entries of dates indices.

A document has one entry, or a first one and chunks (`dates.chunks`), all of
the same number. A condition that one date meets finds the entries with such
a date: of each document any number. What is counted by document, or asks for
documents without such a date, looks at first entries.
"""

from nwx.engine.search_server.documents.compile import Query
from nwx.engine.search_server.schema import CHUNK, CHUNKS

CHUNK_ENTRIES: Query = {"exists": {"field": CHUNK}}
"""The entries that are not the first of their document."""

IN_CHUNKS: tuple[Query, ...] = (CHUNK_ENTRIES, {"exists": {"field": CHUNKS}})
"""The entries of documents with chunks: chunks, and first ones."""

FIRST_ENTRIES: Query = {"bool": {"must_not": [CHUNK_ENTRIES]}}
"""One entry of each document."""

MANY: Query = {
    "bool": {"should": [{"range": {"count": {"gte": 2}}}, *IN_CHUNKS], "minimum_should_match": 1}
}
"""The entries of the main index that know more than the document: one date is its own."""

FIRST_OF_MANY: Query = {"bool": {"filter": [MANY], "must_not": [CHUNK_ENTRIES]}}
"""One entry of each document with several dates."""

ONCE: Query = {
    "bool": {"filter": [{"range": {"count": {"lte": 1}}}], "must_not": [*IN_CHUNKS]},
}
"""The entries of documents with a single date."""
