"""What a server refuses and why it cannot be reached, as errors of nwx.

Refusals are told apart by the types that the server gives them and by their
HTTP status, causes of a broken connection by the classes of exceptions:
never by their texts, which change from version to version.
"""

import http.client
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from nwx.errors import (
    EngineBusyError,
    EngineError,
    EngineFullError,
    EngineUnavailableError,
    PartialAnswerError,
    QueryError,
)

INDEX_EXISTS = "resource_already_exists_exception"
NO_SHARD_YET = "no_shard_available_action_exception"
_INDEX_MISSING = "index_not_found_exception"
_BLOCKED = "cluster_block_exception"
_SEARCH_FAILED = "search_phase_execution_exception"
_NO_MASTER = "master_not_discovered_exception"
_POINT_IN_TIME_LOST = "search_context_missing_exception"

_BAD_REQUEST, _BUSY_STATUS = 400, 429
_UNAVAILABLE = (502, 503, 504)
PROXY_STATUSES = (401, 403, 407, _BUSY_STATUS, *_UNAVAILABLE)
"""What a proxy in front of a server may say itself."""
_MOST_CHARACTERS = 1_000

DEFAULT_PORTS = {"http": 9200, "https": 443}


class RefusedError(EngineError):
    """A request that the server refuses, with the HTTP status and the types of the error."""

    def __init__(self, message: str, status: int, types: frozenset[str]) -> None:
        super().__init__(message)
        self.status = status
        self.types = types


class IndexMissingError(EngineError):
    """An index that there is not."""


class ServerBusyError(EngineUnavailableError):
    """A server that asks to come back later."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """What a server says of a request, or of an entry, that it refuses.

    `types` are those of the error and of its causes, `reason` both in words.
    """

    status: int
    types: frozenset[str]
    reason: str

    @property
    def full(self) -> bool:
        """Whether no space is left: the block of a full disk is the one with this status."""
        return _BLOCKED in self.types and self.status == _BUSY_STATUS

    @property
    def busy(self) -> bool:
        """Whether the same request may be taken later."""
        return self.status in (_BUSY_STATUS, 503) and not self.full

    @property
    def leaderless(self) -> bool:
        """Whether the nodes are choosing a master, which takes them seconds when one was lost."""
        return self.status == 503 and bool({_BLOCKED, _NO_MASTER} & self.types)

    @property
    def blocked(self) -> bool:
        """Whether writing to an index is blocked, as while it gets other shards."""
        return _BLOCKED in self.types and self.status == 403


def read_refusal(body: object, status: int) -> Refusal:
    """Return the refusal in the answer to a request, or to a part of one."""
    error = body.get("error", body) if isinstance(body, Mapping) else {}
    if not isinstance(error, Mapping):
        return Refusal(status, frozenset(), str(error)[:_MOST_CHARACTERS])
    causes = list(_causes(error))
    if not any(cause.get("type") for cause in causes):
        return Refusal(status, frozenset(), "no reason is given")
    words = dict.fromkeys(f"{cause.get('type')}: {cause.get('reason')}" for cause in causes)
    types = frozenset(str(cause["type"]) for cause in causes if "type" in cause)
    return Refusal(status, types, "; ".join(words)[:_MOST_CHARACTERS])


def _causes(error: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield error
    shards = [shard.get("reason") or {} for shard in error.get("failed_shards", ())]
    found = [*error.get("root_cause", ()), error.get("caused_by")]
    found += [one for shard in shards for one in (shard, shard.get("caused_by"))]
    yield from filter(None, found)


def refused(place: str, refusal: Refusal) -> EngineError:
    """Return the error of a request that is refused; `place` names the server."""
    status, reason = refusal.status, refusal.reason
    if status == 401:
        return EngineError(
            f"{place} does not know this user; check the API key, or user and password"
        )
    if known := _known(place, refusal):
        return known
    if status == 403:
        return EngineError(f"{place} does not allow this: {reason}")
    if refusal.leaderless:
        return ServerBusyError(f"{place} is not ready ({status}): {reason}")
    if status in _UNAVAILABLE:
        lacks_shards = _SEARCH_FAILED in refusal.types
        return (PartialAnswerError if lacks_shards else EngineUnavailableError)(
            f"{place} is not ready ({status}): {reason}"
        )
    if refusal.busy:
        return ServerBusyError(f"{place} is too busy: {reason}")
    message = f"{place} refuses ({status}): {reason}"
    return RefusedError(message, status, refusal.types)


def entry_refused(place: str, refusal: Refusal, action: str) -> EngineError:
    """Return the error of an entry that is refused; `action` says what the server does not."""
    return _known(place, refusal) or EngineError(f"{place} {action}: {refusal.reason}")


def _known(place: str, refusal: Refusal) -> EngineError | None:
    if refusal.full:
        return EngineFullError(
            f"{place} has no space left: {refusal.reason}; free some, then import again"
        )
    if refusal.blocked:
        return EngineBusyError(
            f"{place} does not allow writing now: {refusal.reason}; where `nwx reshard` is at"
            f" work, wait for its end, or end it with `nwx reshard --undo` where it was killed"
        )
    if _POINT_IN_TIME_LOST in refusal.types:
        return EngineUnavailableError(
            f"{place} lost what it was reading from, as when a node goes away: "
            f"{refusal.reason}; ask again"
        )
    if _INDEX_MISSING in refusal.types:
        return IndexMissingError(
            f"there is no such archive on {place}: {refusal.reason}; "
            f"import into it first, or check the prefix"
        )
    return None


def another_product(
    product: str, address: str, status: int | None = None, mimetype: str | None = None
) -> EngineError:
    """Return the error of an address where something else answers."""
    answer = f" (HTTP {status}, {mimetype or 'no content type'})" if status else ""
    article = "an" if product[0] in "AEIOU" else "a"
    return EngineError(
        f"the server at {address} is not {article} {product}{answer}; check the address"
    )


def unanswered(place: str, seconds: float) -> EngineError:
    """Return the error of a request that was not answered in time."""
    return EngineUnavailableError(
        f"{place} did not answer within {seconds:g} s; see how it does, or allow more time"
    )


def unreachable(product: str, address: str, error: Exception) -> EngineError:
    """Return the error of a connection that fails: host, port, cause, and what to check."""
    parts = urlsplit(address)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    found = next(filter(None, map(_cause, _chain(error))), None)
    cause, advice = found or (type(error).__name__, "check the address, and that it runs")
    return EngineUnavailableError(
        f"no connection to {product.lower()} at {host}:{port}: {cause}; {advice.format(product)}"
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Give an exception and those behind it, the last cause first."""
    found: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in found:
        found.append(one)
        others = getattr(one, "errors", ())
        one = others[-1] if others else one.__cause__ or one.__context__
    return reversed(found)


def _cause(error: BaseException) -> tuple[str, str] | None:
    """Return what an exception means, and what to do; None where another tells more."""
    match error:
        case ssl.SSLCertVerificationError():
            return (
                f"its certificate is not trusted ({error.verify_message})",
                "name its authority with --ca-file, or take any with --insecure",
            )
        case ssl.SSLError():
            return "no TLS is spoken there", "check whether the address begins with http://"
        case socket.gaierror():
            return "the name of the host is not known", "check its spelling, and the network"
        case ConnectionRefusedError():
            return "connection refused", "check that {} runs there, and the port"
        case ConnectionResetError() | BrokenPipeError() | http.client.RemoteDisconnected():
            return (
                "the connection was closed",
                "check the port, and whether the address begins with https://",
            )
        case http.client.HTTPException():
            return "no HTTP is spoken there", "check the port"
        case OSError() if error.strerror:
            return error.strerror.lower(), "check the address and the network"
    return None


@contextmanager
def query_errors() -> Iterator[None]:
    """Raise QueryError where the server cannot take a query."""
    try:
        yield
    except RefusedError as error:
        if error.status == _BAD_REQUEST:
            raise QueryError(f"the server cannot take this query: {error}") from error
        raise
