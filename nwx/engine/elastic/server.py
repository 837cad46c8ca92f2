"""A connection to Elasticsearch whose failures are errors of nwx."""

import json
import random
import ssl
import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

import msgspec
from elastic_transport import ConnectionError as TransportConnectionError
from elastic_transport import ConnectionTimeout, TransportError
from elasticsearch import ApiError, Elasticsearch, UnsupportedProductError

from nwx.engine.elastic.refusals import (
    DEFAULT_PORTS,
    ServerBusyError,
    is_elasticsearch,
    not_elasticsearch,
    read_refusal,
    refused,
    unreachable,
)
from nwx.engine.work import current_work
from nwx.errors import EngineUnavailableError, SettingsError
from nwx.settings import ElasticSettings

Body = dict[str, Any]

BUSY_ATTEMPTS = 8
"""How often a request is made that the server is too busy for."""

_LEAST_SECONDS = 0.01
# The form that servers of version 8 and 9 both speak, whatever the client's own version.
_MIME = "application/vnd.elasticsearch+{}; compatible-with=8"


class Server:
    """An Elasticsearch at an address; `address` is without user and password."""

    def __init__(self, address: str, settings: ElasticSettings) -> None:
        self.address = _without_secrets(address)
        self._timeout_seconds = settings.timeout_seconds
        self._client = _client(address, settings)

    def request(
        self,
        method: str,
        path: str,
        body: Body | bytes | None = None,
        params: Mapping[str, Any] | None = None,
    ) -> Body:
        """Return the answer to a request, which is repeated while the server is too busy.

        Raises RefusedError for what the server refuses, other EngineErrors
        when it is away, too slow, full, or does not let us in.
        """
        for attempt in range(BUSY_ATTEMPTS - 1):
            try:
                return self._request(method, path, body, params)
            except ServerBusyError:
                pause(attempt)
        return self._request(method, path, body, params)

    def _request(
        self, method: str, path: str, body: Body | bytes | None, params: Mapping[str, Any] | None
    ) -> Body:
        kind = "x-ndjson" if isinstance(body, bytes) else "json"
        headers = {"accept": _MIME.format("json")}
        if body is not None:
            headers["content-type"] = _MIME.format(kind)
            body = body if isinstance(body, bytes) else to_json(body)
        work = current_work()
        work.check()
        try:
            answer = self._in_time(work.remaining_seconds()).perform_request(
                method, path, params=params, headers=headers, body=body
            )
        except ApiError as error:
            if isinstance(error, UnsupportedProductError) or not is_elasticsearch(error.meta):
                raise not_elasticsearch(self.address, error.meta) from error
            raise refused(self.address, read_refusal(error.body, error.status_code)) from error
        except ConnectionTimeout as error:
            work.check()
            raise EngineUnavailableError(
                f"elasticsearch at {self.address} did not answer within "
                f"{self._timeout_seconds:g} s; see how it does, or allow more time"
            ) from error
        except TransportConnectionError as error:
            raise unreachable(self.address, error) from error
        except TransportError as error:
            raise not_elasticsearch(self.address) from error
        if not isinstance(answer.body, dict):
            raise not_elasticsearch(self.address, answer.meta)
        return answer.body

    def _in_time(self, seconds: float | None) -> Elasticsearch:
        """Return the client that waits no longer than that for an answer.

        A search whose connection is closed is cancelled by the server.
        """
        if seconds is None or seconds >= self._timeout_seconds:
            return self._client
        return self._client.options(request_timeout=max(seconds, _LEAST_SECONDS))

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()


def pause(attempt: int) -> None:
    """Wait before the next attempt: twice as long each time, and not all at once."""
    time.sleep(min(0.1 * 2**attempt, 10) * random.uniform(0.5, 1.0))


def to_json(body: object) -> bytes:
    """Return JSON that every server takes: what UTF-8 cannot hold becomes a question mark."""
    try:
        return msgspec.json.encode(body)
    except UnicodeEncodeError:
        text = json.dumps(body, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "replace")


def to_lines(bodies: Iterable[object]) -> bytes:
    """Return newline-delimited JSON."""
    return b"".join(to_json(body) + b"\n" for body in bodies)


def _client(address: str, settings: ElasticSettings) -> Elasticsearch:
    parts = urlsplit(address)
    options: dict[str, Any] = {
        "request_timeout": settings.timeout_seconds,
        "max_retries": 1,  # once more on a connection that the server has closed meanwhile
        "retry_on_timeout": False,
        "retry_on_status": (),
    }
    user = (unquote(parts.username or ""), unquote(parts.password or ""))
    if settings.api_key:
        options["api_key"] = settings.api_key
    elif settings.username or user[0]:
        options["basic_auth"] = (
            (settings.username, settings.password) if settings.username else user
        )
    if parts.scheme == "https":
        options |= _tls(settings)
    try:
        return Elasticsearch(_with_port(address), **options)
    except ValueError as error:
        raise SettingsError(
            f"elasticsearch cannot be reached as set up for {_without_secrets(address)}: {error}"
        ) from error


def _tls(settings: ElasticSettings) -> dict[str, Any]:
    if not settings.verify:
        return {"verify_certs": False, "ssl_show_warn": False}
    if not settings.ca_file:
        return {}
    try:
        return {"ssl_context": ssl.create_default_context(cafile=settings.ca_file)}
    except OSError as error:
        raise SettingsError(f"the CA file {settings.ca_file} cannot be used: {error}") from error


def _with_port(address: str) -> str:
    """Return what the client takes: with a port, without secrets, which it would log."""
    parts = urlsplit(_without_secrets(address))
    try:
        port = parts.port or DEFAULT_PORTS.get(parts.scheme, 9200)
    except ValueError as error:
        raise SettingsError(f"{_without_secrets(address)} is no address: {error}") from error
    if not parts.hostname:
        raise SettingsError(
            f"{_without_secrets(address)!r} names no server; write http://HOST:9200"
        )
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return urlunsplit((parts.scheme, f"{host}:{port}", parts.path.rstrip("/"), "", ""))


def _without_secrets(address: str) -> str:
    parts = urlsplit(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def quoted(name: str) -> str:
    """Return a name as a part of a path."""
    return quote(name, safe="-_,.*")
