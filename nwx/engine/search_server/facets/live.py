"""Captures looked up on the server: composite aggregations, paged to the end."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from nwx.engine.facet_store import CAPTURE_ROW_FIELDS
from nwx.engine.search_server import limits
from nwx.engine.search_server.cluster.copies import refresh
from nwx.engine.search_server.documents.compile import Query
from nwx.engine.search_server.facets.filters import query_of
from nwx.engine.search_server.server import Body, Server
from nwx.engine.selection import Estimate, Groups, LiveFilter, LiveSelection
from nwx.errors import EngineError

_KEEP_ALIVE = "5m"
_MONTH = "uuuuMM"
_MONTH_DIGITS = 6
_PRECISION = 3_000
_PARTS_AT_ONCE = 200


@contextmanager
def live_selection(server: Server, index: str) -> Iterator["ServerLiveSelection"]:
    """Give the captures of an index as they are now."""
    refresh(server, index)
    scans = server.whole_scans(index)
    selection = ServerLiveSelection(server, server.open_point(index, _KEEP_ALIVE), scans)
    try:
        yield selection
    finally:
        # It would end by itself: what went wrong before matters more than this.
        with suppress(EngineError):
            server.close_point(selection.pit)


class ServerLiveSelection(LiveSelection):
    """The captures of a point in time."""

    def __init__(self, server: Server, pit: str, scans: Sequence[Body]) -> None:
        self.pit = pit
        self._scans = scans
        self._too_long: Body = {"terms": {server.ignored_field: list(CAPTURE_ROW_FIELDS)}}
        self._server = server

    def count(self, wanted: LiveFilter) -> int:
        body = {"query": self._found(wanted), "size": 0, "track_total_hits": True}
        found: int = self._search(body)["hits"]["total"]["value"]
        return found

    def _found(self, wanted: LiveFilter) -> Query:
        """Return the query of a condition, and of what it cannot be asked of."""
        return {"bool": {"should": [query_of(wanted), self._too_long], "minimum_should_match": 1}}

    def groups(self, wanted: LiveFilter, fields: Sequence[str]) -> Iterator[Groups]:
        short = {"bool": {"filter": [query_of(wanted)], "must_not": [self._too_long]}}
        yield from self._composite(short, fields)
        yield from self._kept_only(fields)

    def _composite(self, query: Query, fields: Sequence[str]) -> Iterator[Groups]:
        composite: Body = {"size": limits.MAX_IDS, "sources": [_source(name) for name in fields]}
        body: Body = {"query": query, "size": 0, "track_total_hits": False}
        while True:
            answer = self._search(body | {"aggs": {"groups": {"composite": composite}}})
            found = answer["aggregations"]["groups"]
            buckets = found["buckets"]
            if buckets:
                values = [tuple(map(bucket["key"].get, fields)) for bucket in buckets]
                yield Groups(values, [bucket["doc_count"] for bucket in buckets])
            if len(buckets) < limits.MAX_IDS:
                return
            composite |= {"after": found["after_key"]}

    def _kept_only(self, fields: Sequence[str]) -> Iterator[Groups]:
        """Give the captures with values that no aggregation sees, one by one."""
        body: Body = {
            "query": self._too_long,
            "_source": list(fields),
            "size": limits.PAGE,
            "track_total_hits": False,
        }
        for scan in self._scans:
            yield from self._rows(body | scan, fields)

    def _rows(self, body: Body, fields: Sequence[str]) -> Iterator[Groups]:
        while True:
            hits = self._search(body)["hits"]["hits"]
            if hits:
                values = [_row(hit["_source"], fields) for hit in hits]
                yield Groups(values, [1] * len(values))
            if len(hits) < limits.PAGE:
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
    """Return what a composite aggregation divides by; what has no value is a group too."""
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
