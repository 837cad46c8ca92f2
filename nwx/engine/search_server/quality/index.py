"""The index quality on a server."""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Any

from nwx.engine.entries import IndexEntry
from nwx.engine.quality.entries import quality_entry, quality_from_entry
from nwx.engine.quality.quality_index import (
    EVERY_SCORE,
    HOSTS_COUNTED,
    PlaybackScore,
    QualityFilter,
    QualityGroup,
    QualityIndex,
    QualityOrder,
    QualityTotals,
)
from nwx.engine.search_server.blobs import ServerStates
from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.cluster.copies import refresh
from nwx.engine.search_server.pages import entries_by_id, pages, search_page
from nwx.engine.search_server.schema import Schema
from nwx.engine.search_server.server import Body, Server
from nwx.model import IndexName
from nwx.settings import ServerSettings

_WINDOW = 10_000
_MOST_VALUES = 10_000
_FIELDS = ("collection", "host", "domain", "month")
_ORDERS: dict[QualityOrder, list[Body]] = {
    QualityOrder.WORST: [{"score": "asc"}, {"id": "asc"}],
    QualityOrder.NEWEST: [{"checked": "desc"}, {"id": "asc"}],
}


class ServerQualityIndex(QualityIndex):
    """The index `<prefix>-quality`, made when it is first written to."""

    def __init__(self, server: Server, schema: Schema, settings: ServerSettings) -> None:
        self._server = server
        self._schema = schema
        self._index = schema.name(IndexName.QUALITY)
        self._states = ServerStates(server, self._index, settings)
        self._is_made = False

    def put(self, scores: Sequence[PlaybackScore]) -> None:
        if not scores:
            return
        if not self._has_index():
            self._schema.create_lazily(IndexName.QUALITY)
            self._is_made = True
        entries = {score.id: quality_entry(score) for score in scores}
        send(self._server, (BulkAction(self._index, id, entry) for id, entry in entries.items()))

    def score(self, id: str) -> PlaybackScore | None:
        return self.scores_of([id]).get(id)

    def scores_of(self, ids: Collection[str]) -> dict[str, PlaybackScore]:
        if not self._has_index():
            return {}
        found = entries_by_id(self._server, self._index, list(dict.fromkeys(ids)), "true")
        return {id: quality_from_entry(entry["_source"]) for id, entry in found.items()}

    def scores(
        self,
        wanted: QualityFilter,
        limit: int,
        offset: int = 0,
        order: str = QualityOrder.WORST,
    ) -> list[PlaybackScore]:
        if offset + limit > _WINDOW:
            return list(islice(self.scan(wanted, order), offset, offset + limit))
        if not self._refreshed():
            return []
        body: Body = {"query": _query(wanted), "sort": _ORDERS[QualityOrder(order)]}
        body |= {"from": offset, "size": limit, "track_total_hits": False}
        hits = search_page(self._server, self._index, body)["hits"]["hits"]
        return [quality_from_entry(hit["_source"]) for hit in hits]

    def scan(
        self, wanted: QualityFilter = EVERY_SCORE, order: str = QualityOrder.WORST
    ) -> Iterator[PlaybackScore]:
        entries = self._entries(_query(wanted), _ORDERS[QualityOrder(order)])
        yield from map(quality_from_entry, entries)

    def _entries(
        self, query: Body, sort: list[Body], source: object = True
    ) -> Iterator[IndexEntry]:
        if self._refreshed():
            body: Body = {"query": query, "_source": source}
            for page in pages(self._server, self._index, body, sort):
                for hit in page:
                    yield hit["_source"]

    def checked(self, ids: Collection[str], rules: str) -> set[str]:
        if not self._has_index():
            return set()
        found = entries_by_id(self._server, self._index, list(dict.fromkeys(ids)), "rules")
        return {id for id, entry in found.items() if entry["_source"].get("rules", "") == rules}

    def totals(self, wanted: QualityFilter = EVERY_SCORE) -> QualityTotals:
        if not self._refreshed():
            return QualityTotals()
        aggs = {
            "mean": {"avg": {"field": "score"}},
            "kinds": _grouped("kinds"),
            "months": _grouped("month", order={"_key": "asc"}),
            "hosts": _grouped("host", HOSTS_COUNTED),
            "collections": _grouped("collection"),
        }
        body: Body = {"query": _query(wanted), "size": 0, "track_total_hits": True, "aggs": aggs}
        found = search_page(self._server, self._index, body)
        counted = found["aggregations"]
        groups = {name: _groups(counted[name]) for name in aggs if name != "mean"}
        return QualityTotals(found["hits"]["total"]["value"], counted["mean"]["value"], **groups)

    def remove(self, ids: Collection[str]) -> int:
        if not self._has_index():
            return 0
        actions = (BulkAction(self._index, id, None, "delete") for id in dict.fromkeys(ids))
        return send(self._server, actions).count("deleted")

    def put_state(self, name: str, state: bytes) -> None:
        self._states.put(name, state)

    def state(self, name: str) -> bytes | None:
        return self._states.get(name)

    def states(self) -> list[str]:
        return self._states.names()

    def _refreshed(self) -> bool:
        """Make what was written visible to searches; return whether there is an index."""
        if self._has_index():
            refresh(self._server, self._index)
        return self._is_made

    def _has_index(self) -> bool:
        self._is_made = self._is_made or self._schema.is_made(IndexName.QUALITY)
        return self._is_made


def _query(wanted: QualityFilter) -> Body:
    filters = [{"term": {name: getattr(wanted, name)}} for name in _FIELDS if getattr(wanted, name)]
    if wanted.kind:
        filters.append({"term": {"kinds": wanted.kind}})
    return {"bool": {"filter": filters}}


def _grouped(field: str, size: int = _MOST_VALUES, order: object = None) -> Body:
    terms: Body = {"field": field, "size": size, "shard_size": _MOST_VALUES}
    if order is not None:
        terms["order"] = order
    return {"terms": terms, "aggs": {"mean": {"avg": {"field": "score"}}}}


def _groups(found: dict[str, Any]) -> tuple[QualityGroup, ...]:
    return tuple(
        QualityGroup(one["key"], one["doc_count"], one["mean"]["value"]) for one in found["buckets"]
    )
