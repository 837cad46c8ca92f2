"""The Elasticsearch engine: an archive in the indices of a server."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from elastic_transport import ApiResponseMeta, ConnectionTimeout, TransportError
from elastic_transport import ConnectionError as TransportConnectionError
from elasticsearch import ApiError, Elasticsearch, UnsupportedProductError
from elasticsearch.serializer import JsonSerializer

from nwx.bulk.progress import ShowProgress
from nwx.engine.search_server.engine import SearchServerEngine
from nwx.engine.search_server.refusals import (
    PROXY_STATUSES,
    another_product,
    read_refusal,
    refused,
    unanswered,
    unreachable,
)
from nwx.engine.search_server.server import (
    Body,
    Server,
    from_json,
    quoted,
    tls_options,
    user_of,
    with_port,
    without_secrets,
)
from nwx.engine.work import current_work
from nwx.errors import SettingsError
from nwx.settings import RankingSettings, ServerSettings, Settings

_EXACT_SECONDS = 2.0
# The form that servers of version 8 and 9 both speak, whatever the client's own version.
_MIME = "application/vnd.elasticsearch+{}; compatible-with=8"


class _AnswerSerializer(JsonSerializer):
    def json_loads(self, data: bytes) -> Any:
        return from_json(data)


class ElasticServer(Server):
    """An Elasticsearch at an address."""

    product = "Elasticsearch"
    ignored_field = "_ignored"
    highlight_limit = "max_analyzed_offset"
    has_dense_vectors = True

    def __init__(self, address: str, settings: ServerSettings) -> None:
        super().__init__(address, settings)
        self._client = _client(address, settings)
        self._patient: dict[int, Elasticsearch] = {}

    def perform(
        self,
        method: str,
        path: str,
        body: bytes | None,
        kind: str,
        params: Mapping[str, Any] | None,
        seconds: float,
    ) -> Body:
        headers = {"accept": _MIME.format("json")}
        if body is not None:
            headers["content-type"] = _MIME.format(kind)
        try:
            answer = self._waiting(seconds).perform_request(
                method, path, params=params, headers=headers, body=body
            )
        except ApiError as error:
            if isinstance(error, UnsupportedProductError) or not _is_elasticsearch(error.meta):
                meta = error.meta
                raise another_product(
                    self.product, self.address, meta.status, meta.mimetype
                ) from error
            raise refused(self.place, read_refusal(error.body, error.status_code)) from error
        except ConnectionTimeout as error:
            current_work().check()
            raise unanswered(self.place, self.timeout_seconds) from error
        except TransportConnectionError as error:
            raise unreachable(self.product, self.address, error) from error
        except TransportError as error:
            raise another_product(self.product, self.address) from error
        if not isinstance(answer.body, dict):
            meta = answer.meta
            raise another_product(self.product, self.address, meta.status, meta.mimetype)
        return answer.body

    def _waiting(self, seconds: float) -> Elasticsearch:
        """Return a client with a timeout of `seconds`, rounded to seconds if long.

        Clients are kept, because creating one takes as long as a small request.
        """
        if seconds < _EXACT_SECONDS:
            return self._client.options(request_timeout=seconds)
        whole = math.ceil(seconds)
        client = self._patient.get(whole)
        if client is None:
            client = self._patient[whole] = self._client.options(request_timeout=whole)
        return client

    def open_point(self, index: str, keep_alive: str) -> str:
        params = {"keep_alive": keep_alive}
        return str(self.request("POST", f"/{quoted(index)}/_pit", params=params)["id"])

    def close_point(self, point: str) -> None:
        self.request("DELETE", "/_pit", {"id": point})

    def whole_scans(self, index: str) -> Sequence[Body]:
        """Return one scan, in the order in which shards hold their entries."""
        return [{"sort": ["_shard_doc"]}]

    def close(self) -> None:
        self._client.close()


def _is_elasticsearch(meta: ApiResponseMeta) -> bool:
    """Return whether Elasticsearch, or a proxy in front of it, sent an answer."""
    return "x-elastic-product" in meta.headers or meta.status in PROXY_STATUSES


def _client(address: str, settings: ServerSettings) -> Elasticsearch:
    options: dict[str, Any] = {
        "request_timeout": settings.timeout_seconds,
        "max_retries": 1,  # once more on a connection that the server has closed meanwhile
        "retry_on_timeout": False,
        "retry_on_status": (),
        "serializers": {JsonSerializer.mimetype: _AnswerSerializer()},
    }
    if settings.api_key:
        options["api_key"] = settings.api_key
    elif user := user_of(address, settings):
        options["basic_auth"] = user
    if address.startswith("https:"):
        options |= tls_options(settings)
    with SettingsError.instead_of(
        ValueError, f"elasticsearch cannot be reached as set up for {without_secrets(address)}"
    ):
        return Elasticsearch(with_port(address), **options)


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
    """Return the archive on the server at `settings.engine`; the server says who may write."""
    return ElasticEngine(settings.engine, settings.server, settings.ranking)
