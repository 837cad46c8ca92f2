"""Captures in the order of their urlkeys."""

import heapq
from collections.abc import Iterator
from typing import Any

from nwx.engine.entries import capture_from_entry
from nwx.engine.search_server.pages import search_page
from nwx.engine.search_server.server import Body, Server
from nwx.model import Capture

_PAGE = 1_000
LONGEST = 8_000
"""The most characters of a urlkey in the index (`ignore_above` of the mapping)."""

_SORT = [
    {"urlkey": "asc"},
    {"timestamp": "asc"},
    {"source_file": "asc"},
    {"source_file_offset": "asc"},
    {"id": "asc"},
]


def captures_between(server: Server, index: str, urlkey: str, end: str | None) -> Iterator[Capture]:
    """Stream captures, as `Engine.captures` does.

    Urlkeys too long for the index are few: those are looked through.
    """
    if end is not None:
        span = {"range": {"urlkey": {"gte": urlkey, "lt": end}}}
        return heapq.merge(
            _sorted(server, index, span), _long(server, index, urlkey, end), key=_order
        )
    if len(urlkey) > LONGEST:
        return _long(server, index, urlkey, end)
    return _sorted(server, index, {"term": {"urlkey": urlkey}})


def _sorted(server: Server, index: str, query: Body) -> Iterator[Capture]:
    # No point in time: captures do not change, and their order is total.
    body: Body = {
        "query": {"bool": {"filter": [query]}},
        "sort": _SORT,
        "size": _PAGE,
        "track_total_hits": False,
    }
    while True:
        hits = search_page(server, index, body)["hits"]["hits"]
        for hit in hits:
            yield capture_from_entry(hit["_source"])
        if len(hits) < _PAGE:
            return
        body |= {"search_after": hits[-1]["sort"]}


def _long(server: Server, index: str, urlkey: str, end: str | None) -> Iterator[Capture]:
    """Give the captures in a span whose urlkey the index does not hold."""
    found = []
    for capture in _sorted(server, index, {"term": {server.ignored_field: "urlkey"}}):
        key = capture.urlkey.encode("utf-8", "replace")
        first, last = urlkey.encode("utf-8", "replace"), (end or "").encode("utf-8", "replace")
        if (first <= key < last) if end is not None else key == first:
            found.append(capture)
    return iter(sorted(found, key=_order))


def _order(capture: Capture) -> tuple[Any, ...]:
    return (
        capture.urlkey.encode("utf-8", "replace"),
        capture.timestamp,
        capture.source_file.encode("utf-8", "replace"),
        capture.source_file_offset,
        capture.collection,
    )
