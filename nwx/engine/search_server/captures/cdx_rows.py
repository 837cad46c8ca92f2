"""Captures as rows of a CDX, on a search server."""

import heapq
import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.lines import REVISIT
from nwx.cdx.rows import CdxRow
from nwx.engine.search_server.captures.ranges import LONGEST
from nwx.engine.search_server.pages import search_page
from nwx.engine.search_server.server import Body, Server
from nwx.engine.spans import CdxSpan

FIRST_PAGE = 256
_PAGE = 5_000
MOST_COLLECTIONS = 10_000

_ORDER = ("urlkey", "timestamp", "source_file", "source_file_offset", "id")
_FIELDS = [
    "urlkey",
    "timestamp",
    "url",
    "record_type",
    "content_type",
    "status_code",
    "digest",
    "redirect_to",
    "record_length",
    "source_file",
    "source_file_offset",
    "collection",
    "method",
]


def cdx_rows(server: Server, index: str, span: CdxSpan) -> Iterator[CdxRow]:
    """Stream the captures of a span in its order."""
    first, _, last, _ = span.bounds()
    found = map(_row, _entries(server, index, [_keys(span), *_others(span)], span, _FIELDS))
    if len(first) < LONGEST and last == f"{first}!":
        return found
    long = _long_rows(server, index, span)
    return heapq.merge(found, long, key=_place, reverse=span.newest_first)


def cdx_marks(server: Server, index: str, span: CdxSpan, every: int) -> Iterator[str]:
    """Stream the urlkey and timestamp of the first of every so many captures of a span."""
    filters = [_keys(span), *_others(span)]
    found = _entries(server, index, filters, span, ["urlkey", "timestamp"])
    return (f"{entry['urlkey']} {entry['timestamp']}" for entry in islice(found, 0, None, every))


def capture_collections(server: Server, index: str) -> list[str]:
    """Return the names of the collections that have captures."""
    terms = {"field": "collection", "size": MOST_COLLECTIONS}
    body = {"size": 0, "track_total_hits": False, "aggs": {"collections": {"terms": terms}}}
    buckets = search_page(server, index, body)["aggregations"]["collections"]["buckets"]
    return sorted(bucket["key"] for bucket in buckets)


def _keys(span: CdxSpan) -> Body:
    first, since, last, until = span.bounds()
    if last == f"{first}!":
        return {"bool": {"filter": [{"term": {"urlkey": first}}, _times(since, "")]}}
    if first == last:
        return {"bool": {"filter": [{"term": {"urlkey": first}}, _times(since, until)]}}
    upto: Body = {"range": {"urlkey": {"gte": first, "lt": last}}}
    if not since and not until:
        return upto
    without = {"bool": {"filter": [{"term": {"urlkey": first}}, _times("", since)]}}
    also = {"bool": {"filter": [{"term": {"urlkey": last}}, _times("", until)]}}
    spanned: Body = {"bool": {"filter": [upto], "must_not": [without] if since else []}}
    return {"bool": {"should": [spanned, *([also] if until else [])], "minimum_should_match": 1}}


def _times(since: str, until: str) -> Body:
    """Return the condition of timestamps from one on and up to, but without, another."""
    limits = ({"gte": since} if since else {}) | ({"lt": until} if until else {})
    return {"range": {"timestamp": limits}}


def _others(span: CdxSpan) -> list[Body]:
    found: list[Body] = []
    if span.collection:
        found.append({"term": {"collection": span.collection}})
    if span.revisits is not None:
        revisit = {"term": {"record_type": "revisit"}}
        found.append(revisit if span.revisits else {"bool": {"must_not": [revisit]}})
    return found


def _entries(
    server: Server, index: str, filters: list[Body], span: CdxSpan, fields: list[str]
) -> Iterator[Mapping[str, Any]]:
    order = "desc" if span.newest_first else "asc"
    body: Body = {
        "query": {"bool": {"filter": filters}},
        "sort": [{name: order} for name in _ORDER],
        "size": FIRST_PAGE,
        "track_total_hits": False,
        "_source": fields,
    }
    while True:
        hits = search_page(server, index, body)["hits"]["hits"]
        for hit in hits:
            yield hit["_source"]
        if len(hits) < body["size"]:
            return
        body |= {"search_after": hits[-1]["sort"], "size": _PAGE}


def _long_rows(server: Server, index: str, span: CdxSpan) -> Iterator[CdxRow]:
    """Give the captures of a span whose urlkeys the index does not hold: few are so long."""
    filters = [{"term": {server.ignored_field: "urlkey"}}, *_others(span)]
    start, end = span.start.encode("utf-8", "replace"), span.end.encode("utf-8", "replace")
    found = [
        row
        for row in map(_row, _entries(server, index, filters, span, _FIELDS))
        if start <= f"{row.urlkey} {row.timestamp}".encode("utf-8", "replace") < end
    ]
    return iter(sorted(found, key=_place, reverse=span.newest_first))


def _place(row: CdxRow) -> tuple[bytes, str, bytes, int, str]:
    return (
        row.urlkey.encode("utf-8", "replace"),
        row.timestamp,
        row.filename.encode("utf-8", "replace"),
        int(row.offset),
        row.collection,
    )


def _row(entry: Mapping[str, Any]) -> CdxRow:
    def text(name: str) -> str:
        return str(entry.get(name, NO_VALUE))

    method = entry.get("method", "GET")
    revisit = entry["record_type"] == "revisit"
    return CdxRow(
        entry["urlkey"],
        entry["timestamp"],
        entry["url"],
        REVISIT if revisit else entry.get("content_type", "unk"),
        text("status_code"),
        text("digest"),
        text("redirect_to"),
        NO_VALUE,
        text("record_length"),
        str(entry.get("source_file_offset", 0)),
        text("source_file"),
        entry["collection"],
        "" if method == "GET" else json.dumps({"method": method}),
    )
