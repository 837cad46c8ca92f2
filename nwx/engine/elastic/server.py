"""A connection to Elasticsearch whose failures are errors of nwx."""

import json
import random
import ssl
import time
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit, urlunsplit

from elastic_transport import ConnectionError as TransportConnectionError
from elastic_transport import ConnectionTimeout, TransportError
from elasticsearch import ApiError, Elasticsearch, UnsupportedProductError

from nwx.errors import EngineError, EngineFullError, EngineUnavailableError, SettingsError
from nwx.settings import ElasticSettings

Body = dict[str, Any]

BUSY_ATTEMPTS = 8
"""How often a request is made that the server is too busy for."""

_UNAVAILABLE = {502, 503, 504}
_FULL = ("disk usage exceeded", "read_only_allow_delete", "read-only-allow-delete")
# The form that servers of version 8 and 9 both speak, whatever the client's own version.
_MIME = "application/vnd.elasticsearch+{}; compatible-with=8"
_DEFAULT_PORTS = {"http": 9200, "https": 443}


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

        Raises StatusError for what the server refuses, other EngineErrors
        when it is away, too slow, full, or does not let us in.
        """
        for attempt in range(BUSY_ATTEMPTS - 1):
            try:
                return self._request(method, path, body, params)
            except BusyError:
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
        try:
            answer = self._client.perform_request(
                method, path, params=params, headers=headers, body=body
            )
        except ApiError as error:
            raise self._refused(error) from error
        except UnsupportedProductError as error:
            raise EngineError(f"there is no elasticsearch at {self.address}: {error}") from error
        except ConnectionTimeout as error:
            raise EngineUnavailableError(
                f"elasticsearch at {self.address} did not answer within "
                f"{self._timeout_seconds:g} s; see how it does, or allow more time"
            ) from error
        except TransportConnectionError as error:
            raise EngineUnavailableError(
                f"no connection to elasticsearch at {self.address}: {_reason(error)}"
            ) from error
        except TransportError as error:
            raise EngineError(
                f"elasticsearch at {self.address} answered what cannot be read: {_reason(error)}"
            ) from error
        if not isinstance(answer.body, dict):
            raise EngineError(
                f"{self.address} answered what elasticsearch does not: {str(answer.body)[:200]!r}"
            )
        return answer.body

    def _refused(self, error: ApiError) -> EngineError:
        status, reason = error.status_code, error_reason(error.body)
        if status == 401:
            return EngineError(
                f"elasticsearch at {self.address} does not know this user; "
                f"check the API key, or user and password"
            )
        known = self._known_error(reason)
        if known is not None:
            return known
        if status == 403:
            return EngineError(f"elasticsearch at {self.address} does not allow this: {reason}")
        if status in _UNAVAILABLE:
            return EngineUnavailableError(
                f"elasticsearch at {self.address} is not ready ({status}): {reason}"
            )
        if status == 429:
            return BusyError(f"elasticsearch at {self.address} is too busy: {reason}")
        return StatusError(f"elasticsearch at {self.address} refuses ({status}): {reason}", status)

    def error(self, reason: str, action: str) -> EngineError:
        """Return the error of an entry that the server refuses; `action` says what it does not."""
        return self._known_error(reason) or EngineError(
            f"elasticsearch at {self.address} {action}: {reason}"
        )

    def _known_error(self, reason: str) -> EngineError | None:
        if any(sign in reason for sign in _FULL):
            return EngineFullError(
                f"elasticsearch at {self.address} has no space left: {reason}; "
                f"free some, then import again"
            )
        if "index_not_found" in reason:
            return EngineError(
                f"there is no such archive on elasticsearch at {self.address}: {reason}; "
                f"import into it first, or check the prefix"
            )
        return None

    def close(self) -> None:
        """Let go of the connections."""
        self._client.close()


class StatusError(EngineError):
    """A request that the server refuses, with the HTTP status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class BusyError(EngineUnavailableError):
    """A server that asks to come back later."""


def pause(attempt: int) -> None:
    """Wait before the next attempt: twice as long each time, and not all at once."""
    time.sleep(min(0.1 * 2**attempt, 10) * random.uniform(0.5, 1.0))


def error_reason(body: object) -> str:
    """Return what a refusal says, root cause included."""
    error = body.get("error", body) if isinstance(body, Mapping) else body
    if not isinstance(error, Mapping):
        return str(error)[:500]
    parts = [f"{error.get('type')}: {error.get('reason')}"]
    causes = [*error.get("root_cause", ()), error.get("caused_by")]
    for shard in error.get("failed_shards", ()):
        causes += [shard.get("reason"), (shard.get("reason") or {}).get("caused_by")]
    parts += [f"{cause.get('type')}: {cause.get('reason')}" for cause in causes if cause]
    return "; ".join(dict.fromkeys(parts))[:1000]


def to_json(body: object) -> bytes:
    """Return JSON that every server takes: what UTF-8 cannot hold becomes a question mark."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


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
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 9200)
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


def _reason(error: TransportError) -> str:
    return str(error.message).splitlines()[0][:300] if error.message else type(error).__name__


def quoted(name: str) -> str:
    """Return a name as a part of a path."""
    return quote(name, safe="-_,.*")
