"""The Elasticsearch and OpenSearch engines: an archive in the indices of a server."""

from collections.abc import Mapping, Sequence
from typing import Any

from elastic_transport import ApiResponseMeta

from nwx.bulk.progress import ShowProgress
from nwx.engine.search_server.engine import SearchServerEngine
from nwx.engine.search_server.refusals import PROXY_STATUSES, another_product
from nwx.engine.search_server.schema import TOO_LONG
from nwx.engine.search_server.server import Body, Server, quoted, without_secrets
from nwx.errors import SettingsError
from nwx.settings import RankingSettings, ServerSettings, Settings

_POINT = "_search/point_in_time"


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


class OpenSearchServer(Server):
    """An OpenSearch at an address, which begins with `opensearch+`."""

    product = "OpenSearch"
    prefix = "opensearch+"
    ignored_field = TOO_LONG  # OpenSearch does not list values that are too long in `_ignored`

    def __init__(self, address: str, settings: ServerSettings) -> None:
        if settings.api_key:
            raise SettingsError(
                f"opensearch at {without_secrets(address.removeprefix(self.prefix))} "
                "does not accept API keys; use a user name and password"
            )
        super().__init__(address, settings)
        self._is_checked = False

    def _request(
        self, method: str, path: str, body: Body | bytes | None, params: Mapping[str, Any] | None
    ) -> Body:
        """Return the response to one request; the first call also checks the server's product."""
        if not self._is_checked:
            self._check()
            self._is_checked = True
        return super()._request(method, path, body, params)

    def _check(self) -> None:
        """Raise EngineError if the server is another product, or access to its info is denied.

        Users need the right `cluster:monitor/main`.
        """
        version = super()._request("GET", "/", None, None).get("version", {})
        if not isinstance(version, Mapping) or version.get("distribution") != "opensearch":
            raise another_product(self.product, self._plain)

    def _is_own(self, meta: ApiResponseMeta, answer: object) -> bool:
        return isinstance(answer, dict) or meta.status in PROXY_STATUSES

    def open_point(self, index: str, keep_alive: str) -> str:
        params = {"keep_alive": keep_alive}
        answer = self.request("POST", f"/{quoted(index)}/{_POINT}", params=params)
        return str(answer["pit_id"])

    def close_point(self, point: str) -> None:
        self.request("DELETE", f"/{_POINT}", {"pit_id": [point]})

    def whole_scans(self, index: str) -> Sequence[Body]:
        """Return one scan per shard, in the order in which its entries were written.

        An order across shards would need a field of the entries.
        """
        by_change: Body = {"sort": [{"_seq_no": "asc"}]}
        path = f"/{quoted(index)}/_settings/index.number_of_shards"
        settings = self.request("GET", path).values()
        count = sum(int(one["settings"]["index"]["number_of_shards"]) for one in settings)
        if count == 1:
            return [by_change]
        # With as many slices as shards, each slice is one shard.
        return [by_change | {"slice": {"id": id, "max": count}} for id in range(count)]


class OpenSearchEngine(SearchServerEngine):
    """The indices of an archive on an OpenSearch server.

    `address` is `opensearch+` and the server's address; it may contain user and password, which
    never appear in messages.
    """

    def __init__(
        self, address: str, settings: ServerSettings, ranking: RankingSettings | None = None
    ) -> None:
        super().__init__(OpenSearchServer(address, settings), settings, ranking)


def open_engine(
    settings: Settings, *, read_only: bool, progress: ShowProgress
) -> SearchServerEngine:
    """Return the archive on the server at `settings.engine`; the server decides who may write."""
    is_opensearch = settings.engine.startswith(OpenSearchServer.prefix)
    kind = OpenSearchEngine if is_opensearch else ElasticEngine
    return kind(settings.engine, settings.server, settings.ranking)
