"""Bulk reads of a server's captures and documents, and the facets and inlinks built from them."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import blake2b

import numpy as np

from nwx.bulk.progress import batches
from nwx.engine.entries import IndexEntry
from nwx.engine.facet_store import (
    CAPTURE_ROW_FIELDS,
    AllOf,
    AnyOf,
    Between,
    CapturePlace,
    CaptureRows,
    Ending,
    Estimate,
    FacetStore,
    Groups,
    Like,
    LiveFilter,
    LiveSelection,
    Not,
    OneOf,
    StoredBuild,
    Unset,
)
from nwx.engine.inlinks.inlink_index import DocumentStates, InlinkIndex, LinkingDocument
from nwx.engine.inlinks.link_entries import table_entries
from nwx.engine.inlinks.table import InlinkTable
from nwx.engine.search_server import schema
from nwx.engine.search_server.blobs import ServerBlobs
from nwx.engine.search_server.capture_store import (
    PLACE_ORDER,
    ascending,
    captures_of,
    fields_of,
    read_fields,
)
from nwx.engine.search_server.date_indices import ServerDatesIndices
from nwx.engine.search_server.documents.compile import EVERYTHING, NOTHING, Query
from nwx.engine.search_server.pages import entries_by_id, pages, search_page
from nwx.engine.search_server.server import Body, Server, from_json, to_json
from nwx.engine.search_server.writes import refresh
from nwx.errors import EngineError
from nwx.keys import capture_id
from nwx.model import Capture, IndexName
from nwx.settings import ServerSettings, build_folder

_MEANING = re.compile(r"[*?\\]")


def query_of(wanted: LiveFilter) -> Query:
    """Return the server query of a condition."""
    match wanted:
        case AllOf(parts):
            return {"bool": {"filter": list(map(query_of, parts))}} if parts else EVERYTHING
        case AnyOf(parts):
            return _any(list(map(query_of, parts)))
        case Not(part):
            return {"bool": {"must_not": [query_of(part)]}}
        case OneOf(field, values):
            return {"terms": {field: list(values)}}
        case Between(field, low, high):
            bounds = {"gte": low, "lt": high}
            return {
                "range": {field: {name: end for name, end in bounds.items() if end is not None}}
            }
        case Ending(field, end):
            return {"wildcard": {field: {"value": "*" + _MEANING.sub(r"\\\g<0>", end)}}}
        case Like(field, pattern):
            return {"regexp": {field: {"value": pattern, "flags": "NONE"}}}
        case Unset(field):
            return {"bool": {"must_not": [{"exists": {"field": field}}]}}


def _any(queries: list[Query]) -> Query:
    if not queries:
        return NOTHING
    return {"bool": {"should": queries, "minimum_should_match": 1}}


_KEEP_ALIVE = "5m"
_MONTH = "uuuuMM"
_MONTH_DIGITS = 6
_PRECISION = 3_000
_PARTS_AT_ONCE = 200


@contextmanager
def live_selection(server: Server, index: str) -> Iterator["ServerLiveSelection"]:
    """Yield a selection over a point-in-time view of the captures in an index."""
    refresh(server, index)
    scans = server.whole_scans(index)
    pit = server.open_point(index, _KEEP_ALIVE)
    selection = ServerLiveSelection(server, index, pit, scans)
    try:
        yield selection
    finally:
        # It expires anyway, and this must not hide an earlier error.
        with suppress(EngineError):
            server.close_point(selection.pit)


class ServerLiveSelection(LiveSelection):
    """The captures in a point-in-time view of an index."""

    def __init__(self, server: Server, index: str, pit: str, scans: Sequence[Body]) -> None:
        self._index = index
        self.pit = pit
        self._scans = scans
        self._too_long: Body = {"terms": {server.ignored_field: list(CAPTURE_ROW_FIELDS)}}
        self._server = server

    def count(self, wanted: LiveFilter) -> int:
        body = {"query": self._found(wanted), "size": 0, "track_total_hits": True}
        found: int = self._search(body)["hits"]["total"]["value"]
        return found

    def _found(self, wanted: LiveFilter) -> Query:
        """Return the query of a condition, also matching captures with values too long for it."""
        return {"bool": {"should": [query_of(wanted), self._too_long], "minimum_should_match": 1}}

    def groups(self, wanted: LiveFilter, fields: Sequence[str]) -> Iterator[Groups]:
        short = {"bool": {"filter": [query_of(wanted)], "must_not": [self._too_long]}}
        yield from self._composite(short, fields)
        yield from self._kept_only(fields)

    def _composite(self, query: Query, fields: Sequence[str]) -> Iterator[Groups]:
        composite: Body = {"size": schema.MAX_IDS, "sources": [_source(name) for name in fields]}
        body: Body = {"query": query, "size": 0, "track_total_hits": False}
        while True:
            answer = self._search(body | {"aggs": {"groups": {"composite": composite}}})
            found = answer["aggregations"]["groups"]
            buckets = found["buckets"]
            if buckets:
                values = [tuple(map(bucket["key"].get, fields)) for bucket in buckets]
                yield Groups(values, [bucket["doc_count"] for bucket in buckets])
            if len(buckets) < schema.MAX_IDS:
                return
            composite |= {"after": found["after_key"]}

    def _kept_only(self, fields: Sequence[str]) -> Iterator[Groups]:
        """Yield, one by one, the captures with values too long for aggregations."""
        body: Body = {
            "query": self._too_long,
            "size": schema.PAGE,
            "track_total_hits": False,
            **read_fields(self._server, fields),
        }
        for scan in self._scans:
            yield from self._rows(body | scan, fields)

    def _rows(self, body: Body, fields: Sequence[str]) -> Iterator[Groups]:
        while True:
            hits = self._search(body)["hits"]["hits"]
            if hits:
                found = fields_of(self._server, self._index, hits)
                values = [_row(entry, fields) for entry in found]
                yield Groups(values, [1] * len(values))
            if len(hits) < schema.PAGE:
                return
            body |= {"search_after": hits[-1]["sort"]}

    def estimates(
        self, wanted: LiveFilter, parts: Sequence[LiveFilter], sized: LiveFilter
    ) -> list[Estimate]:
        added = {"bytes": {"sum": {"field": "content_length"}}}
        aggs = _ESTIMATED | {"sized": {"filter": query_of(sized), "aggs": added}}
        found = []
        for start in range(0, len(parts), _PARTS_AT_ONCE):
            some = [query_of(part) for part in parts[start : start + _PARTS_AT_ONCE]]
            groups = {"filters": {"filters": some}, "aggs": aggs}
            body = {"query": query_of(wanted), "size": 0, "aggs": {"parts": groups}}
            buckets = self._search(body)["aggregations"]["parts"]["buckets"]
            found += [_estimate(bucket) for bucket in buckets]
        return found

    def _search(self, body: Body) -> Body:
        pit = {"id": self.pit, "keep_alive": _KEEP_ALIVE}
        params = {"allow_partial_search_results": "false"}
        answer = self._server.request("POST", "/_search", body | {"pit": pit}, params)
        self.pit = answer.get("pit_id", self.pit)
        return answer


_ESTIMATED: Body = {
    "documents": {"cardinality": {"field": "digest", "precision_threshold": _PRECISION}},
    "alone": {"missing": {"field": "digest"}},
    "urls": {"cardinality": {"field": "url", "precision_threshold": _PRECISION}},
}


def _source(name: str) -> Body:
    """Return the source of a composite aggregation; missing values form a group."""
    if name == "timestamp":
        months = {"field": "crawl_date", "calendar_interval": "month", "format": _MONTH}
        return {name: {"date_histogram": months | {"missing_bucket": True}}}
    return {name: {"terms": {"field": name, "missing_bucket": True}}}


def _row(entry: Body, fields: Sequence[str]) -> tuple[object, ...]:
    known = entry | {"timestamp": entry.get("timestamp", "")[:_MONTH_DIGITS]}
    return tuple(map(known.get, fields))


def _estimate(bucket: Body) -> Estimate:
    captures = bucket["doc_count"]
    return Estimate(
        captures,
        min(captures, bucket["documents"]["value"] + bucket["alone"]["doc_count"]),
        min(captures, bucket["urls"]["value"]),
        bucket["sized"]["doc_count"],
        int(bucket["sized"]["bytes"]["value"]),
    )


_PAGE = 10_000


class ServerFacetStore(ServerBlobs, FacetStore):
    """The captures and facet blobs of a server; a mark is a month and a capture's place."""

    def __init__(
        self, server: Server, captures: str, facets: str, settings: ServerSettings
    ) -> None:
        folder = build_folder(settings, server.address, IndexName.FACETS)
        super().__init__(server, IndexName.FACETS, facets, settings, folder)
        self._captures = captures

    def _entries(self, build: StoredBuild) -> Iterator[IndexEntry]:
        return build.entries.read(self.folder) if build.entries else iter(())

    def stamp(self) -> str:
        return self._last_changes([self._captures])

    def month_stamps(self) -> dict[str, str]:
        refresh(self._server, self._captures)
        changes = {name: {name: {"field": "_seq_no"}} for name in ("sum", "max")}
        by_month: Body = {
            "date_histogram": {
                "field": "crawl_date",
                "calendar_interval": "month",
                "format": "yyyyMM",
                "min_doc_count": 1,
            },
            "aggs": changes,
        }
        body: Body = {"size": 0, "aggs": {"months": by_month}}
        buckets = search_page(self._server, self._captures, body)["aggregations"]["months"][
            "buckets"
        ]
        return {
            one["key_as_string"]: f"{one['doc_count']} {one['sum']['value']} {one['max']['value']}"
            for one in buckets
        }

    def capture_rows(
        self, months: Collection[str] | None = None, after: str = ""
    ) -> Iterator[CaptureRows]:
        last_month, _, last = after.partition(" ")
        for month in sorted(self.month_stamps() if months is None else months):
            if month >= last_month:
                yield from self._rows(month, last if month == last_month else "")

    def _rows(self, month: str, last: str) -> Iterator[CaptureRows]:
        span = {"timestamp": {"gte": month, "lt": f"{month}~"}}
        body: Body = {"query": {"bool": {"filter": [{"range": span}]}}}
        body |= read_fields(self._server, CAPTURE_ROW_FIELDS, PLACE_ORDER)
        if last:
            body["search_after"] = from_json(last)
        for page in pages(self._server, self._captures, body, ascending(PLACE_ORDER), _PAGE):
            entries = fields_of(self._server, self._captures, page, PLACE_ORDER)
            rows = [tuple(map(entry.get, CAPTURE_ROW_FIELDS)) for entry in entries]
            place = page[-1]["sort"][: len(PLACE_ORDER)]
            yield CaptureRows(rows, f"{month} {to_json(place).decode()}")

    def live_selection(self) -> AbstractContextManager[ServerLiveSelection]:
        return live_selection(self._server, self._captures)

    def captures_at(self, places: Sequence[CapturePlace]) -> list[Capture]:
        ids = [f"{source}@{offset}" for source, offset in places]
        found: dict[str, Capture] = {}
        for some in batches(ids, schema.PAGE):
            body = {"query": {"ids": {"values": some}}, "size": len(some)} | read_fields(
                self._server
            )
            hits = search_page(self._server, self._captures, body)["hits"]["hits"]
            captures = captures_of(self._server, self._captures, hits)
            found |= {capture_id(*one[:3]): one for one in captures}
        return [found[id] for id in ids if id in found]


_IDS_PAGE = 5_000
_AT_ONCE = 500
_FIELDS = "id,url,urlkey,links,links_text,links_kind"


class ServerInlinkIndex(ServerBlobs, InlinkIndex):
    """The documents of a server, and the blobs and entries of their inlinks."""

    def __init__(
        self,
        server: Server,
        name: Callable[[IndexName], str],
        dates: ServerDatesIndices,
        settings: ServerSettings,
        copies: str = "",
    ) -> None:
        folder = build_folder(settings, server.address, IndexName.INLINKS) / copies
        super().__init__(server, IndexName.INLINKS, name(IndexName.INLINKS), settings, folder)
        self._documents = name(IndexName.DOCUMENTS)
        self._main_dates = name(IndexName.DATES)
        self._dates = dates

    def _entries(self, build: StoredBuild) -> Iterator[IndexEntry]:
        return table_entries(InlinkTable(self.folder, build))

    def stamp(self) -> str:
        return self._last_changes([self._documents, self._main_dates, *self._dates.others()])

    def document_states(self) -> Iterator[DocumentStates]:
        for index in (self._documents, self._main_dates, *self._dates.others()):
            refresh(self._server, index)
        body = {"query": {"match_all": {}}, "_source": ["id"], "seq_no_primary_term": True}
        for page in pages(self._server, self._documents, body, [{"id": "asc"}], _IDS_PAGE):
            ids = [hit["_source"]["id"] for hit in page]
            dates = self._dates.read(ids)
            states = [
                _state(hit["_seq_no"], dates[id].seen if id in dates else ())
                for hit, id in zip(page, ids, strict=True)
            ]
            yield DocumentStates(bytes.fromhex("".join(ids)), np.array(states, dtype=np.uint64))

    def linking_documents(self, ids: Sequence[bytes]) -> Iterator[LinkingDocument]:
        for begin in range(0, len(ids), _AT_ONCE):
            wanted = [id.hex() for id in ids[begin : begin + _AT_ONCE]]
            found = entries_by_id(self._server, self._documents, wanted, _FIELDS)
            dates = self._dates.read(wanted)
            for id in wanted:
                if id in found:
                    seen = dates[id].seen if id in dates else ()
                    yield _document(id, found[id]["_source"], seen)


def _document(id: str, entry: IndexEntry, seen: Sequence[tuple[str, str]]) -> LinkingDocument:
    links = entry.get("links", [])
    missing = [""] * len(links)
    return LinkingDocument(
        bytes.fromhex(id),
        entry["url"],
        entry["urlkey"],
        links,
        entry.get("links_text", missing),
        entry.get("links_kind", ["a"] * len(links)),
        seen,
    )


def _state(number: int, seen: Sequence[tuple[str, str]]) -> int:
    text = " ".join([str(number), *(f"{name}/{timestamp}" for timestamp, name in sorted(seen))])
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
