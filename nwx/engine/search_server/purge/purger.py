"""What takes entries out of a server for good."""

from collections.abc import Collection, Iterator, Sequence

from nwx.engine.access.purger import Purger
from nwx.engine.crawls.crawl_index import StoredSpecification
from nwx.engine.crawls.entries import specification_entry
from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.cluster.copies import refresh
from nwx.engine.search_server.dates.indices import ServerDatesIndices
from nwx.engine.search_server.dates.store import DatesStore
from nwx.engine.search_server.pages import pages
from nwx.engine.search_server.purge.segments import erase_deleted, with_copies_away
from nwx.engine.search_server.queue.outbox import ServerOutbox
from nwx.engine.search_server.queue.store import QueueStore
from nwx.engine.search_server.schema import Schema
from nwx.engine.search_server.server import Body, Server
from nwx.model import Dates, IndexName

_TERMS = 10_000
_BY_ID: list[Body] = [{"id": "asc"}]


class ServerPurger(Purger):
    """Purges the indices of an archive on a server."""

    def __init__(self, server: Server, schema: Schema, dates: ServerDatesIndices) -> None:
        self._server, self._schema, self._dates = server, schema, dates

    def own_dates(self) -> list[str]:
        return self._dates.made()

    def remove_dates(self, place: str, dates: Sequence[Dates]) -> int:
        return DatesStore(self._server, self._dates.index_of(place)).remove(dates)

    def remove_scores(self, document_ids: Collection[str], urls: Collection[str]) -> int:
        index = self._schema.name(IndexName.CRAWLS)
        if not self._schema.is_made(IndexName.CRAWLS):
            return 0
        refresh(self._server, index)
        scores = self._with_values(index, "score", "document_id", document_ids)
        leading = self._with_values(index, "link", "url", urls)
        found_on = self._found_on(index, urls)
        ids = dict.fromkeys((*scores, *leading, *found_on))
        deleted = send(self._server, (BulkAction(index, id, None, "delete") for id in ids))
        return deleted.count("deleted")

    def _with_values(
        self, index: str, kind: str, field: str, values: Collection[str]
    ) -> Iterator[str]:
        """Yield the ids of the entries of a kind that have one of these values."""
        wanted = list(values)
        for start in range(0, len(wanted), _TERMS):
            terms = {"terms": {field: wanted[start : start + _TERMS]}}
            query = {"bool": {"filter": [{"term": {"kind": kind}}, terms]}}
            body: Body = {"query": query, "_source": False}
            for page in pages(self._server, index, body, _BY_ID):
                yield from (hit["_id"] for hit in page)

    def _found_on(self, index: str, urls: Collection[str]) -> Iterator[str]:
        """Yield the ids of the links whose best mention is on one of these pages."""
        body: Body = {"query": {"term": {"kind": "link"}}, "_source": ["via"]}
        for page in pages(self._server, index, body, _BY_ID):
            yield from (hit["_id"] for hit in page if hit["_source"].get("via") in urls)

    def replace_specification(self, stored: StoredSpecification) -> None:
        entry = specification_entry(stored)
        index = self._schema.name(IndexName.CRAWLS)
        send(self._server, [BulkAction(index, entry["id"], entry)])

    def forget_pages(self, urls: Collection[str]) -> int:
        index = self._schema.name(IndexName.QUEUE)
        if not self._schema.is_made(IndexName.QUEUE):
            return 0
        refresh(self._server, index)
        changed = send(self._server, self._without_page(index, urls)).count("updated")
        outbox = ServerOutbox(QueueStore(self._server, self._schema))
        return changed + outbox.forget_pages(urls)

    def _without_page(self, index: str, urls: Collection[str]) -> Iterator[BulkAction]:
        body: Body = {"query": {"match_all": {}}, "seq_no_primary_term": True}
        for page in pages(self._server, index, body, [{"_doc": "asc"}]):
            for hit in page:
                if hit["_source"].get("via") in urls:
                    entry = {key: one for key, one in hit["_source"].items() if key != "via"}
                    seen = ("if_seq_no", hit["_seq_no"]), ("if_primary_term", hit["_primary_term"])
                    yield BulkAction(index, hit["_id"], entry, control=seen)

    def erase(self, wait_seconds: float) -> tuple[str, ...]:
        return erase_deleted(self._server, self._names(), wait_seconds)

    def copies_away(self) -> tuple[str, ...]:
        return with_copies_away(self._server, self._names())

    def _names(self) -> list[str]:
        names = [self._schema.name(index) for index in IndexName]
        files = [f"{name}-files" for name in names]
        dates = [self._dates.index_of(name) for name in self._dates.made()]
        return [*names, *files, *dates]
