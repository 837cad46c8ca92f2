"""Look-ups of captures on a search server: by URL, timestamp and digest, and as CDX rows."""

import heapq
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import REVISIT, CdxRow
from nwx.engine.capture_index import (
    CaptureIndex,
    CdxSpan,
    KeysAtTime,
    lowest_statuses,
    nearest_captures,
)
from nwx.engine.search_server.capture_store import (
    CDX_ORDER,
    PLACE_ORDER,
    ascending,
    captures_of,
    fields_of,
    read_fields,
)
from nwx.engine.search_server.pages import pages, search_page, search_pages
from nwx.engine.search_server.server import Body, Server
from nwx.model import Capture

_RANGE_PAGE = 1_000
LONGEST = 8_000
"""The most characters of a urlkey in the index (`ignore_above` of the mapping)."""


def _order(capture: Capture) -> tuple[Any, ...]:
    return (
        capture.urlkey.encode("utf-8", "replace"),
        capture.timestamp,
        capture.source_file.encode("utf-8", "replace"),
        capture.source_file_offset,
        capture.collection,
    )


_FIRST_PAGE = 20
"""The first page of captures by digest: callers mostly need only the first capture."""

_BY_TIME = ("timestamp", *PLACE_ORDER)


def _sides(asked: KeysAtTime, most: int) -> Iterator[Body]:
    """Yield the searches for captures at or after the timestamp, and before it.

    A single search with `distance_feature` would miss some of the nearest captures.
    """
    for side, order in (("gte", "asc"), ("lt", "desc")):
        moment = {"range": {"timestamp": {side: asked.timestamp}}}
        yield _of_keys(asked.urlkeys, [moment]) | {"sort": [{"timestamp": order}], "size": most}


_QUESTIONS_AT_ONCE = 100
_FEW_OF_KEYS = 1_000


def _of_keys(urlkeys: Iterable[str], filters: Sequence[Body]) -> Body:
    keys = {"terms": {"urlkey": [key for key in urlkeys if len(key) <= LONGEST]}}
    query = {"bool": {"filter": [keys, *filters]}}
    return {"query": query, "size": _FEW_OF_KEYS, "track_total_hits": False}


_AT_ONCE = 5_000


FIRST_PAGE = 256
_PAGE = 5_000
MOST_COLLECTIONS = 10_000

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
    """Return the condition on timestamps, from `since` up to but excluding `until`."""
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


class CaptureLookups(CaptureIndex):
    """The look-ups of a server's captures."""

    _server: Server
    _captures: str

    def captures(self, urlkey: str, end: str | None = None) -> Iterator[Capture]:
        if end is not None:
            span = {"range": {"urlkey": {"gte": urlkey, "lt": end}}}
            return heapq.merge(self._sorted(span), self._long(urlkey, end), key=_order)
        if len(urlkey) > LONGEST:
            return self._long(urlkey, end)
        return self._sorted({"term": {"urlkey": urlkey}})

    def captures_of_digest(self, digest: str, urlkey: str = "") -> Iterator[Capture]:
        terms = [{"term": {"digest": digest}}]
        if urlkey and len(urlkey) <= LONGEST:
            terms.append({"term": {"urlkey": urlkey}})
        query: Body = {
            "bool": {
                "filter": terms,
                "must_not": [{"term": {"record_type": "revisit"}}],
            }
        }
        body = {"query": query} | read_fields(self._server, order=_BY_TIME)
        newest_first = [{"timestamp": "desc"}, *ascending(PLACE_ORDER)]
        for page in pages(self._server, self._captures, body, newest_first, _FIRST_PAGE):
            for capture in captures_of(self._server, self._captures, page, _BY_TIME):
                if urlkey in ("", capture.urlkey):
                    yield capture

    def captures_near(self, asked: Sequence[KeysAtTime], most: int) -> list[list[Capture]]:
        return [
            found
            for begin in range(0, len(asked), _QUESTIONS_AT_ONCE)
            for found in self._near(asked[begin : begin + _QUESTIONS_AT_ONCE], most)
        ]

    def _near(self, asked: Sequence[KeysAtTime], most: int) -> list[list[Capture]]:
        """Return the answers from one search for all captures, from two each if they are many."""
        if len(asked) > 1 and (known := self._all_of_keys(asked)) is not None:
            near = [[known.get(key, []) for key in set(one.urlkeys)] for one in asked]
        else:
            bodies = [
                side | read_fields(self._server) for one in asked for side in _sides(one, most)
            ]
            pages = search_pages(self._server, self._captures, bodies)
            sides = [captures_of(self._server, self._captures, hits) for hits in pages]
            near = [[*both] for both in zip(sides[::2], sides[1::2], strict=True)]
        return [
            nearest_captures(chain.from_iterable(found), one.timestamp, most)
            for found, one in zip(near, asked, strict=True)
        ]

    def _all_of_keys(self, asked: Sequence[KeysAtTime]) -> dict[str, list[Capture]] | None:
        """Return all captures of the urlkeys asked about, None if they are many."""
        keys = {key for one in asked for key in one.urlkeys}
        body = _of_keys(keys, []) | read_fields(self._server)
        (hits,) = search_pages(self._server, self._captures, [body])
        if len(hits) == _FEW_OF_KEYS:
            return None
        known: dict[str, list[Capture]] = {}
        for capture in captures_of(self._server, self._captures, hits):
            known.setdefault(capture.urlkey, []).append(capture)
        return known

    def has_keys(self, starts: Sequence[str]) -> bool:
        if not starts:
            return False
        should = [{"prefix": {"urlkey": {"value": start}}} for start in starts]
        body: Body = {
            "query": {"bool": {"filter": [{"bool": {"should": should}}]}},
            "size": 0,
            "track_total_hits": 1,
            "terminate_after": 1,
        }
        return bool(search_page(self._server, self._captures, body)["hits"]["total"]["value"])

    def statuses(
        self, urlkeys: Sequence[str], hides: Callable[[Capture], bool] | None = None
    ) -> dict[str, int]:
        found: dict[str, int] = {}
        keys = [key for key in urlkeys if len(key) <= LONGEST]
        for begin in range(0, len(keys), _AT_ONCE):
            some = keys[begin : begin + _AT_ONCE]
            if hides:
                captures = self._sorted({"terms": {"urlkey": some}})
                shown = ((one.urlkey, one.status_code) for one in captures if not hides(one))
                found |= lowest_statuses(shown)
                continue
            lowest = {"min": {"field": "status_code", "missing": 0}}
            terms = {"field": "urlkey", "size": len(some), "include": some}
            body: Body = {
                "size": 0,
                "track_total_hits": False,
                "query": {"terms": {"urlkey": some}},
                "aggs": {"urlkeys": {"terms": terms, "aggs": {"lowest": lowest}}},
            }
            buckets = search_page(self._server, self._captures, body)["aggregations"]["urlkeys"][
                "buckets"
            ]
            found.update({one["key"]: int(one["lowest"]["value"]) for one in buckets})
        return found

    def cdx_rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        first, _, last, _ = span.bounds()
        found = map(_row, self._entries([_keys(span), *_others(span)], span, _FIELDS))
        if len(first) < LONGEST and last == f"{first}!":
            return found
        long = self._long_rows(span)
        return heapq.merge(found, long, key=_place, reverse=span.newest_first)

    def cdx_marks(self, span: CdxSpan, every: int) -> Iterator[str]:
        span = replace(span, newest_first=False)
        filters = [_keys(span), *_others(span)]
        found = self._entries(filters, span, ["urlkey", "timestamp"])
        return (
            f"{entry['urlkey']} {entry['timestamp']}" for entry in islice(found, 0, None, every)
        )

    def collections(self) -> list[str]:
        terms = {"field": "collection", "size": MOST_COLLECTIONS}
        body = {"size": 0, "track_total_hits": False, "aggs": {"collections": {"terms": terms}}}
        buckets = search_page(self._server, self._captures, body)["aggregations"]["collections"][
            "buckets"
        ]
        return sorted(bucket["key"] for bucket in buckets)

    def _sorted(self, query: Body) -> Iterator[Capture]:
        # Needs no point in time: captures do not change, and their order is total.
        body: Body = {
            "query": {"bool": {"filter": [query]}},
            "sort": ascending(CDX_ORDER),
            "size": _RANGE_PAGE,
            "track_total_hits": False,
            **read_fields(self._server, order=CDX_ORDER),
        }
        while True:
            hits = search_page(self._server, self._captures, body)["hits"]["hits"]
            yield from captures_of(self._server, self._captures, hits, CDX_ORDER)
            if len(hits) < _RANGE_PAGE:
                return
            body |= {"search_after": hits[-1]["sort"]}

    def _long(self, urlkey: str, end: str | None) -> Iterator[Capture]:
        """Return the captures of a span whose urlkeys are too long for the index, sorted."""
        found = []
        for capture in self._sorted({"term": {self._server.ignored_field: "urlkey"}}):
            key = capture.urlkey.encode("utf-8", "replace")
            first, last = urlkey.encode("utf-8", "replace"), (end or "").encode("utf-8", "replace")
            if (first <= key < last) if end is not None else key == first:
                found.append(capture)
        return iter(sorted(found, key=_order))

    def _entries(
        self, filters: list[Body], span: CdxSpan, fields: list[str]
    ) -> Iterator[Mapping[str, Any]]:
        order = "desc" if span.newest_first else "asc"
        body: Body = {
            "query": {"bool": {"filter": filters}},
            "sort": [{name: order} for name in CDX_ORDER],
            "size": FIRST_PAGE,
            "track_total_hits": False,
            **read_fields(self._server, fields, CDX_ORDER),
        }
        while True:
            hits = search_page(self._server, self._captures, body)["hits"]["hits"]
            yield from fields_of(self._server, self._captures, hits, CDX_ORDER)
            if len(hits) < body["size"]:
                return
            body |= {"search_after": hits[-1]["sort"], "size": _PAGE}

    def _long_rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        """Return the few rows of a span whose urlkeys are too long for the index, sorted."""
        filters = [{"term": {self._server.ignored_field: "urlkey"}}, *_others(span)]
        start, end = span.start.encode("utf-8", "replace"), span.end.encode("utf-8", "replace")
        found = [
            row
            for row in map(_row, self._entries(filters, span, _FIELDS))
            if start <= f"{row.urlkey} {row.timestamp}".encode("utf-8", "replace") < end
        ]
        return iter(sorted(found, key=_place, reverse=span.newest_first))
