"""A connection to OpenSearch by its own client."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from opensearchpy import OpenSearch
from opensearchpy.exceptions import (
    ConnectionError as ClientConnectionError,
)
from opensearchpy.exceptions import (
    ConnectionTimeout,
    SerializationError,
    TransportError,
)
from opensearchpy.serializer import JSONSerializer

from nwx.engine.search_server.engine import SearchServerEngine
from nwx.engine.search_server.refusals import (
    PROXY_STATUSES,
    another_product,
    read_refusal,
    refused,
    unanswered,
    unreachable,
)
from nwx.engine.search_server.schema import TOO_LONG
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
from nwx.errors import EngineError, SettingsError
from nwx.settings import RankingSettings, ServerSettings

_PREFIX = "opensearch+"
_POINT = "_search/point_in_time"
_CONNECTIONS = 16
_NO_LOG = logging.NullHandler()
"""Keeps what the client logs of refused requests, which are errors here, from standard error."""


class _AnswerSerializer(JSONSerializer):
    def loads(self, s: str) -> Any:
        try:
            return from_json(s)
        except ValueError as error:
            raise SerializationError(s, error) from error


class OpenSearchServer(Server):
    """An OpenSearch at an address, which begins with `opensearch+`."""

    product = "OpenSearch"
    ignored_field = TOO_LONG  # what is too long is not in its own `_ignored`
    highlight_limit = "max_analyzer_offset"

    def __init__(self, address: str, settings: ServerSettings) -> None:
        super().__init__(address, settings)
        logging.getLogger("opensearch").addHandler(_NO_LOG)
        self._plain = self.address.removeprefix(_PREFIX)
        self.place = f"opensearch at {self._plain}"
        self._client = _client(address.removeprefix(_PREFIX), settings)
        self._is_checked = False

    def perform(
        self,
        method: str,
        path: str,
        body: bytes | None,
        kind: str,
        params: Mapping[str, Any] | None,
        seconds: float,
    ) -> Body:
        """Return the response to one request; the first call also checks the server's product."""
        if not self._is_checked:
            self._check(seconds)
            self._is_checked = True
        return self._perform(method, path, body, kind, params, seconds)

    def _check(self, seconds: float) -> None:
        """Raise EngineError if the server is another product, or access to its info is denied.

        Users need the right `cluster:monitor/main`.
        """
        found = self._perform("GET", "/", None, "json", None, seconds)
        version = found.get("version", {})
        if isinstance(version, Mapping) and version.get("distribution") == "opensearch":
            return
        raise another_product(self.product, self._plain)

    def _perform(
        self,
        method: str,
        path: str,
        body: bytes | None,
        kind: str,
        params: Mapping[str, Any] | None,
        seconds: float,
    ) -> Body:
        headers = {"accept": "application/json"}
        if body is not None:
            headers["content-type"] = f"application/{kind}"
        try:
            answer = self._client.transport.perform_request(
                method, path, params=params, headers=headers, body=body, timeout=seconds
            )
        except ConnectionTimeout as error:
            current_work().check()
            raise unanswered(self.place, self.timeout_seconds) from error
        except ClientConnectionError as error:
            raise unreachable(self.product, self._plain, _cause(error)) from error
        except TransportError as error:
            raise self._refused(error) from error
        except SerializationError as error:
            raise another_product(self.product, self._plain) from error
        if not isinstance(answer, dict):
            raise another_product(self.product, self._plain)
        return answer

    def _refused(self, error: TransportError) -> EngineError:
        status = int(error.status_code)
        if not isinstance(error.info, dict) and status not in PROXY_STATUSES:
            return another_product(self.product, self._plain, status)
        return refused(self.place, read_refusal(error.info, status))

    def open_point(self, index: str, keep_alive: str) -> str:
        params = {"keep_alive": keep_alive}
        answer = self.request("POST", f"/{quoted(index)}/{_POINT}", params=params)
        return str(answer["pit_id"])

    def close_point(self, point: str) -> None:
        self.request("DELETE", f"/{_POINT}", {"pit_id": [point]})

    def whole_scans(self, index: str) -> Sequence[Body]:
        """Return one scan per shard, in the order in which its entries were written.

        An order over all shards would need a field of the entries.
        """
        by_change: Body = {"sort": [{"_seq_no": "asc"}]}
        path = f"/{quoted(index)}/_settings/index.number_of_shards"
        settings = self.request("GET", path).values()
        count = sum(int(one["settings"]["index"]["number_of_shards"]) for one in settings)
        if count == 1:
            return [by_change]
        # As many slices as there are shards are a shard each.
        return [by_change | {"slice": {"id": id, "max": count}} for id in range(count)]

    def close(self) -> None:
        self._client.close()


def _cause(error: ClientConnectionError) -> Exception:
    """Return the exception that caused a client error."""
    return error.info if isinstance(error.info, Exception) else error


def _client(address: str, settings: ServerSettings) -> OpenSearch:
    if settings.api_key:
        raise SettingsError(
            f"opensearch at {without_secrets(address)} takes no API key; "
            f"give --username and --password"
        )
    options: dict[str, Any] = {
        "timeout": settings.timeout_seconds,
        "max_retries": 1,  # once more on a connection that the server has closed meanwhile
        "retry_on_timeout": False,
        "retry_on_status": (),
        "pool_maxsize": _CONNECTIONS,
        "serializers": {JSONSerializer.mimetype: _AnswerSerializer()},
    }
    if user := user_of(address, settings):
        options["http_auth"] = user
    if address.startswith("https:"):
        options |= tls_options(settings)
    return OpenSearch(with_port(address), **options)


class OpenSearchEngine(SearchServerEngine):
    """The indices of an archive on an OpenSearch server.

    `address` is `opensearch+` and the server's address; it may contain user and password, which
    never appear in messages.
    """

    def __init__(
        self, address: str, settings: ServerSettings, ranking: RankingSettings | None = None
    ) -> None:
        super().__init__(OpenSearchServer(address, settings), settings, ranking)
