"""The captures of an index in bulk, and the place of what facet questions are answered from."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager

from nwx.engine.cube import ROW_FIELDS, Build, CapturePlace, CaptureTuples, Cube
from nwx.engine.elastic.facets.builds import CubeStore
from nwx.engine.elastic.facets.live import ElasticLiveSelection, selecting
from nwx.engine.elastic.pages import entries_by_id, pages, search_page
from nwx.engine.elastic.server import Body, Server, quoted
from nwx.engine.entries import capture_from_entry
from nwx.model import Capture
from nwx.settings import ElasticSettings, facets_folder

_PAGE = 10_000


class ElasticCube(Cube):
    """The captures index of a server; what is built from it is kept at hand in a folder."""

    def __init__(
        self, server: Server, captures: str, facets: str, settings: ElasticSettings
    ) -> None:
        self.folder = facets_folder(settings, server.address)
        self._server = server
        self._captures = captures
        self._store = CubeStore(server, facets, settings)

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

    def months(self) -> dict[str, str]:
        self._server.request("POST", f"/{quoted(self._captures)}/_refresh")
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

    def rows(self, months: Collection[str] | None, after: str = "") -> Iterator[CaptureTuples]:
        last_month, _, last_id = after.partition(" ")
        for month in sorted(self.months() if months is None else months):
            if month >= last_month:
                yield from self._rows(month, last_id if month == last_month else "")

    def _rows(self, month: str, last_id: str) -> Iterator[CaptureTuples]:
        span = {"timestamp": {"gte": month, "lt": f"{month}~"}}
        filters: list[Body] = [{"range": span}, {"range": {"id": {"gt": last_id}}}]
        body: Body = {"query": {"bool": {"filter": filters}}, "_source": [*ROW_FIELDS, "id"]}
        for page in pages(self._server, self._captures, body, [{"id": "asc"}], _PAGE):
            entries = [hit["_source"] for hit in page]
            rows = [tuple(map(entry.get, ROW_FIELDS)) for entry in entries]
            yield CaptureTuples(rows, f"{month} {entries[-1]['id']}")

    def version(self) -> str:
        return self._store.version()

    def newest(self) -> Build | None:
        manifest = self._store.manifest()
        return None if manifest is None else Build(self.folder, manifest)

    def at_hand(self) -> Build | None:
        manifest = self._store.manifest()
        if manifest is None or self._store.missing(self.folder, manifest):
            return None
        return Build(self.folder, manifest)

    def fetch(self) -> Build | None:
        manifest = self._store.manifest()
        if manifest is None:
            return None
        self._store.fetch(self.folder, manifest)
        return Build(self.folder, manifest)

    def publish(self, build: Build) -> None:
        self._store.publish(build)

    def selecting(self) -> AbstractContextManager[ElasticLiveSelection]:
        return selecting(self._server, self._captures)

    def captures(self, places: Sequence[CapturePlace]) -> list[Capture]:
        ids = [f"{source}@{offset}" for source, offset in places]
        found = entries_by_id(self._server, self._captures, ids, "true")
        return [capture_from_entry(found[id]["_source"]) for id in ids if id in found]
