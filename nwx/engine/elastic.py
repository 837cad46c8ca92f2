"""The Elasticsearch engine: an archive in the indices of a server."""

from collections.abc import Sequence

from elastic_transport import ApiResponseMeta

from nwx.bulk.progress import ShowProgress
from nwx.engine.search_server.engine import SearchServerEngine
from nwx.engine.search_server.refusals import PROXY_STATUSES
from nwx.engine.search_server.server import Body, Server, quoted
from nwx.settings import RankingSettings, ServerSettings, Settings


class ElasticServer(Server):
    """An Elasticsearch at an address."""

    product = "Elasticsearch"
    # The format that servers of versions 8 and 9 both support.
    media_type = "application/vnd.elasticsearch+{}; compatible-with=8"
    ignored_field = "_ignored"
    has_dense_vectors = True

    def _is_own(self, meta: ApiResponseMeta, answer: object) -> bool:
        return "x-elastic-product" in meta.headers or meta.status in PROXY_STATUSES

    def open_point(self, index: str, keep_alive: str) -> str:
        params = {"keep_alive": keep_alive}
        return str(self.request("POST", f"/{quoted(index)}/_pit", params=params)["id"])

    def close_point(self, point: str) -> None:
        self.request("DELETE", "/_pit", {"id": point})

    def whole_scans(self, index: str) -> Sequence[Body]:
        """Return one scan, in the order in which shards store their entries."""
        return [{"sort": ["_shard_doc"]}]


class ElasticEngine(SearchServerEngine):
    """The archive in indices of an Elasticsearch.

    `address` may contain user and password; messages never do.
    """

    def __init__(
        self, address: str, settings: ServerSettings, ranking: RankingSettings | None = None
    ) -> None:
        super().__init__(ElasticServer(address, settings), settings, ranking)


__all__ = ["ElasticEngine", "open_engine"]


def open_engine(settings: Settings, *, read_only: bool, progress: ShowProgress) -> ElasticEngine:
    """Return the archive on the server at `settings.engine`; the server decides who may write."""
    return ElasticEngine(settings.engine, settings.server, settings.ranking)
