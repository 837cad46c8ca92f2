"""Connections to search servers, whose failures are raised as errors of nwx."""

import json
import random
import ssl
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import quote, unquote, urlencode, urlsplit, urlunsplit

import msgspec
from elastic_transport import (
    ApiResponseMeta,
    ConnectionTimeout,
    JsonSerializer,
    Transport,
    TransportError,
)
from elastic_transport import ConnectionError as TransportConnectionError
from elastic_transport.client_utils import basic_auth_to_header, url_to_node_config

from nwx.bulk.process_limits import rare_collections
from nwx.engine.document_index import Work, current_work
from nwx.engine.search_server.refusals import (
    DEFAULT_PORTS,
    ServerBusyError,
    another_product,
    check_whole,
    read_refusal,
    refused,
    unanswered,
    unreachable,
)
from nwx.errors import SettingsError
from nwx.settings import ServerSettings


def without_secrets(address: str) -> str:
    """Return an address without user and password."""
    with SettingsError.instead_of(ValueError, f"{address.rpartition('@')[2]} is not an address"):
        parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def with_port(address: str) -> str:
    """Return an address for a client: with a port, and without secrets, which clients would log.

    Raises SettingsError on an invalid address.
    """
    parts = urlsplit(without_secrets(address))
    with SettingsError.instead_of(ValueError, f"{without_secrets(address)} is not an address"):
        port = parts.port or DEFAULT_PORTS.get(parts.scheme, 9200)
    if not parts.hostname:
        raise SettingsError(
            f"{without_secrets(address)!r} is not a server address; write http://HOST:9200"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return urlunsplit((parts.scheme, f"{host}:{port}", parts.path.rstrip("/"), "", ""))


def _credentials(address: str, settings: ServerSettings) -> dict[str, str]:
    """Return the header with the API key, or with user and password of settings or address."""
    if settings.api_key:
        return {"authorization": f"ApiKey {settings.api_key}"}
    parts = urlsplit(address)
    user, password = settings.username, settings.password
    if not user:
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
    return {"authorization": basic_auth_to_header((user, password))} if user else {}


def trusted_authorities(settings: ServerSettings) -> ssl.SSLContext | None:
    """Return an SSL context for the settings' CA file, None for the system's authorities.

    Raises SettingsError if the file cannot be used.
    """
    if not settings.ca_file:
        return None
    with SettingsError.instead_of(OSError, f"the CA file {settings.ca_file} cannot be used"):
        return ssl.create_default_context(cafile=settings.ca_file)


def _tls_options(settings: ServerSettings) -> dict[str, Any]:
    if not settings.verify:
        return {"verify_certs": False, "ssl_show_warn": False}
    trusted = trusted_authorities(settings)
    return {} if trusted is None else {"ssl_context": trusted}


Body = dict[str, Any]

_CONNECTIONS = 16

BUSY_ATTEMPTS = 8
"""The number of attempts at a request if the server is too busy."""

_LEAST_SECONDS = 0.01
_LONG_ANSWER = 1 << 16


class _AnswerSerializer(JsonSerializer):
    def json_loads(self, data: bytes) -> Any:
        return from_json(data)


def _transport(address: str, settings: ServerSettings, media_types: Iterable[str]) -> Transport:
    options: dict[str, Any] = {
        "headers": _credentials(address, settings),
        "connections_per_node": _CONNECTIONS,
        "request_timeout": settings.timeout_seconds,
    }
    if urlsplit(address).scheme == "https":
        options |= _tls_options(settings)
    place = without_secrets(address)
    with SettingsError.instead_of(ValueError, f"{place} cannot be reached with these settings"):
        node = url_to_node_config(with_port(address)).replace(**options)
        return Transport(
            [node],
            max_retries=1,  # the server may have closed an idle connection
            retry_on_status=(),
            meta_header=False,
            serializers=dict.fromkeys(media_types, _AnswerSerializer()),
        )


class Server(ABC):
    """A search server at an address; `address` is without user and password.

    `place` names the server in messages. Each product has a subclass.
    """

    product: ClassVar[str]
    """The name of the product, as its makers spell it."""

    prefix: ClassVar[str] = ""
    """The prefix of its addresses, before `http`."""

    media_type: ClassVar[str] = "application/{}"
    """The template of the media types for JSON and newline-delimited JSON."""

    ignored_field: ClassVar[str]
    """The field of captures that lists their fields with values too long to index."""

    has_dense_vectors: ClassVar[bool] = False
    """Whether the server supports searchable fields of type `dense_vector`."""

    def __init__(self, address: str, settings: ServerSettings) -> None:
        self.address = without_secrets(address)
        self._plain = self.address.removeprefix(self.prefix)
        self.place = f"{self.product.lower()} at {self._plain}"
        self.timeout_seconds = settings.timeout_seconds
        media_type = self.media_type.partition(";")[0]
        media_types = (JsonSerializer.mimetype, *map(media_type.format, ("json", "x-ndjson")))
        self._transport = _transport(address.removeprefix(self.prefix), settings, media_types)

    def request(
        self,
        method: str,
        path: str,
        body: Body | bytes | None = None,
        params: Mapping[str, Any] | None = None,
        *,
        whole: bool = True,
    ) -> Body:
        """Return the response to a request, retried while the server is too busy.

        A body of bytes is newline-delimited JSON. Raises RefusedError if the server refuses the
        request, PartialAnswerError if `whole` is set and some shards did not answer, other
        EngineErrors if the server is unavailable, too slow, full, or denies access.
        """
        for attempt in range(BUSY_ATTEMPTS - 1):
            try:
                answer = self._request(method, path, body, params)
                break
            except ServerBusyError:
                pause(attempt)
        else:
            answer = self._request(method, path, body, params)
        if whole:
            check_whole(self.place, answer)
        return answer

    def _request(
        self, method: str, path: str, body: Body | bytes | None, params: Mapping[str, Any] | None
    ) -> Body:
        """Return the response to one request; transport errors are raised as errors of nwx.

        Raises ServerBusyError if the same request may succeed later.
        """
        work = current_work()
        work.check()
        headers = {"accept": self.media_type.format("json")}
        if isinstance(body, bytes):
            headers["content-type"] = self.media_type.format("x-ndjson")
        elif body is not None:
            headers["content-type"] = self.media_type.format("json")
            body = to_json(body)
        target = f"{path}?{urlencode(params, quote_via=quote)}" if params else path
        try:
            meta, answer = self._transport.perform_request(
                method, target, body=body, headers=headers, request_timeout=self._seconds(work)
            )
        except ConnectionTimeout as error:
            work.check()
            raise unanswered(self.place, self.timeout_seconds) from error
        except TransportConnectionError as error:
            raise unreachable(self.product, self._plain, error) from error
        except TransportError as error:  # unreadable responses
            raise another_product(self.product, self._plain) from error
        is_own = self._is_own(meta, answer)
        if is_own and not 200 <= meta.status < 300:
            raise refused(self.place, read_refusal(answer, meta.status))
        if not is_own or not isinstance(answer, dict):
            raise another_product(self.product, self._plain, meta.status, meta.mimetype)
        return answer

    def _seconds(self, work: Work) -> float:
        """Return the response timeout in seconds.

        The server cancels a search when its connection is closed.
        """
        remaining = work.remaining_seconds()
        if remaining is None or remaining >= self.timeout_seconds:
            return self.timeout_seconds
        return max(remaining, _LEAST_SECONDS)

    @abstractmethod
    def _is_own(self, meta: ApiResponseMeta, answer: object) -> bool:
        """Return whether the product, or a proxy in front of it, sent an answer."""

    @abstractmethod
    def open_point(self, index: str, keep_alive: str) -> str:
        """Open a point in time of an index, which expires after `keep_alive` without use."""

    @abstractmethod
    def close_point(self, point: str) -> None:
        """Release a point in time."""

    @abstractmethod
    def whole_scans(self, index: str) -> Sequence[Body]:
        """Return search bodies for a point in time that together find all entries.

        Each search has a sort order without ties.
        """

    def close(self) -> None:
        """Close the connections."""
        self._transport.close()


def pause(attempt: int) -> None:
    """Wait before the next attempt: exponential backoff with jitter, at most 10 seconds."""
    time.sleep(min(0.1 * 2**attempt, 10) * random.uniform(0.5, 1.0))


def to_json(body: object) -> bytes:
    """Return JSON that every server accepts: lone surrogates become question marks."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), default=_encoded)
        return text.encode("utf-8", "replace")


def _encoded(part: object) -> Any:
    """Return the value of a part of a body that `json` cannot encode: raw JSON or a record."""
    return json.loads(bytes(part)) if isinstance(part, msgspec.Raw) else msgspec.to_builtins(part)


def from_json(text: bytes | str) -> Any:
    """Return the decoded JSON of a server's response, several times faster than `json`.

    The standard library reads lone surrogates, which msgspec refuses. Raises ValueError on invalid
    JSON.
    """
    try:
        if len(text) < _LONG_ANSWER:
            return msgspec.json.decode(text)
        with rare_collections():  # garbage collections take three quarters of the time
            return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return json.loads(text)


def to_lines(bodies: Iterable[object]) -> bytes:
    """Return newline-delimited JSON."""
    return b"".join(to_json(body) + b"\n" for body in bodies)


def quoted(name: str) -> str:
    """Return a name quoted for a URL path."""
    return quote(name, safe="-_,.*")
