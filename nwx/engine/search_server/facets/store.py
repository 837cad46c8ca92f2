"""The captures of an index in bulk, and the blobs of the facets built from them."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager

from nwx.engine.entries import IndexEntry, capture_from_entry
from nwx.engine.facet_store import (
    CAPTURE_ROW_FIELDS,
    CapturePlace,
    CaptureRows,
    FacetStore,
    StoredBuild,
)
from nwx.engine.search_server.blobs import ServerBlobs
from nwx.engine.search_server.cluster.copies import refresh
from nwx.engine.search_server.facets.live import ServerLiveSelection, live_selection
from nwx.engine.search_server.pages import entries_by_id, pages, search_page
from nwx.engine.search_server.server import Body, Server, quoted
from nwx.model import Capture, IndexName
from nwx.settings import ServerSettings, build_folder

_PAGE = 10_000


class ServerFacetStore(ServerBlobs, FacetStore):
    """The captures of a server, and the blobs there; a mark is a month and the id of a capture."""

    def __init__(
        self, server: Server, captures: str, facets: str, settings: ServerSettings
    ) -> None:
        folder = build_folder(settings, server.address, IndexName.FACETS)
        super().__init__(server, IndexName.FACETS, facets, settings, folder)
        self._captures = captures

    def _entries(self, build: StoredBuild) -> Iterator[IndexEntry]:
        return build.entries.read(self.folder) if build.entries else iter(())

    def stamp(self) -> str:
        # Each shard numbers its changes, and the index has another uuid once it is made anew.
        answer = self._server.request(
            "GET",
            f"/{quoted(self._captures)}/_stats",
            params={"level": "shards", "filter_path": "indices.*.uuid,indices.*.shards.*.seq_no"},
        )
        numbers = [
            f"{found['uuid']} {shard} {max(copy['seq_no']['max_seq_no'] for copy in copies)}"
            for found in answer["indices"].values()
            for shard, copies in found["shards"].items()
        ]
        return ", ".join(sorted(numbers))

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
        last_month, _, last_id = after.partition(" ")
        for month in sorted(self.month_stamps() if months is None else months):
            if month >= last_month:
                yield from self._rows(month, last_id if month == last_month else "")

    def _rows(self, month: str, last_id: str) -> Iterator[CaptureRows]:
        span = {"timestamp": {"gte": month, "lt": f"{month}~"}}
        filters: list[Body] = [{"range": span}, {"range": {"id": {"gt": last_id}}}]
        body: Body = {
            "query": {"bool": {"filter": filters}},
            "_source": [*CAPTURE_ROW_FIELDS, "id"],
        }
        for page in pages(self._server, self._captures, body, [{"id": "asc"}], _PAGE):
            entries = [hit["_source"] for hit in page]
            rows = [tuple(map(entry.get, CAPTURE_ROW_FIELDS)) for entry in entries]
            yield CaptureRows(rows, f"{month} {entries[-1]['id']}")

    def live_selection(self) -> AbstractContextManager[ServerLiveSelection]:
        return live_selection(self._server, self._captures)

    def captures_at(self, places: Sequence[CapturePlace]) -> list[Capture]:
        ids = [f"{source}@{offset}" for source, offset in places]
        found = entries_by_id(self._server, self._captures, ids, "true")
        return [capture_from_entry(found[id]["_source"]) for id in ids if id in found]
