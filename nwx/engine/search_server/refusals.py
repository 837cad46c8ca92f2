"""Errors of nwx for requests refused by a server, failed connections and incomplete answers.

Refusals are identified by the server's error types and HTTP status, failed connections by
exception class: never by message texts, which change between versions.
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
    ErrorText,
    NoArchiveError,
    PartialAnswerError,
    QueryError,
)

INDEX_EXISTS = "resource_already_exists_exception"
NO_SHARD_YET = "no_shard_available_action_exception"
_INDEX_CLOSED, _INDEX_MISSING = "index_closed_exception", "index_not_found_exception"
_BLOCKED = "cluster_block_exception"
_SEARCH_FAILED = "search_phase_execution_exception"
_NO_MASTER = "master_not_discovered_exception"
_POINT_IN_TIME_LOST = "search_context_missing_exception"

_BAD_REQUEST, _BUSY_STATUS = 400, 429
_UNAVAILABLE = (502, 503, 504)
PROXY_STATUSES = (401, 403, 407, _BUSY_STATUS, *_UNAVAILABLE)
"""The statuses that a proxy in front of a server may answer itself."""
_MOST_CHARACTERS = 1_000

DEFAULT_PORTS = {"http": 9200, "https": 443}


class RefusedError(EngineError):
    """A request that the server refuses, with the HTTP status and error types."""

    def __init__(self, message: ErrorText, status: int, types: frozenset[str]) -> None:
        super().__init__(message)
        self.status = status
        self.types = types


class IndexMissingError(NoArchiveError):
    """A missing index."""


class ServerBusyError(EngineUnavailableError):
    """A server that asks to retry later."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A server's refusal of a request or of an entry.

    `types` are the types of the error and its causes, `reason` is their text.
    """

    status: int
    types: frozenset[str]
    reason: str

    @property
    def full(self) -> bool:
        """Whether the disk is full: only its block has the status 429."""
        return _BLOCKED in self.types and self.status == _BUSY_STATUS

    @property
    def busy(self) -> bool:
        """Whether the same request may succeed later."""
        return self.status in (_BUSY_STATUS, 503) and not self.full

    @property
    def leaderless(self) -> bool:
        """Whether the nodes are electing a master, which takes seconds after losing one."""
        return self.status == 503 and bool({_BLOCKED, _NO_MASTER} & self.types)

    @property
    def blocked(self) -> bool:
        """Whether writing to an index is blocked, as during resharding."""
        return _BLOCKED in self.types and self.status == 403


def read_refusal(body: object, status: int) -> Refusal:
    """Return the refusal in the answer to a request or to a part of it."""
    error = body.get("error", body) if isinstance(body, Mapping) else {}
    if not isinstance(error, Mapping):
        return Refusal(status, frozenset(), str(error)[:_MOST_CHARACTERS])
    causes = list(_causes(error))
    if not any(cause.get("type") for cause in causes):
        return Refusal(status, frozenset(), "no reason is given")
    words = dict.fromkeys(f"{cause.get('type')}: {cause.get('reason')}" for cause in causes)
    types = frozenset(str(cause["type"]) for cause in causes if "type" in cause)
    return Refusal(status, types, "; ".join(words)[:_MOST_CHARACTERS].rstrip(";"))


def _causes(error: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield error
    shards = [shard.get("reason") or {} for shard in error.get("failed_shards", ())]
    found = [*error.get("root_cause", ()), error.get("caused_by")]
    found += [one for shard in shards for one in (shard, shard.get("caused_by"))]
    yield from filter(None, found)


def refused(place: str, refusal: Refusal) -> EngineError:
    """Return the error for a refused request; `place` names the server."""
    status, reason = refusal.status, refusal.reason
    if status == 401:
        return EngineError.translated(
            "%(place)s does not know this user; check the API key, or user and password",
            place=place,
        )
    if known := _known(place, refusal):
        return known
    if status == 403:
        return EngineError.translated(
            "%(place)s does not allow this: %(reason)s", place=place, reason=reason
        )
    not_ready = ErrorText(
        "%(place)s is not ready (%(status)s): %(reason)s", place=place, status=status, reason=reason
    )
    if refusal.leaderless:
        return ServerBusyError(not_ready)
    if status in _UNAVAILABLE or _INDEX_CLOSED in refusal.types:
        lacks_shards = _SEARCH_FAILED in refusal.types
        return (PartialAnswerError if lacks_shards else EngineUnavailableError)(not_ready)
    if refusal.busy:
        return ServerBusyError.translated(
            "%(place)s is too busy: %(reason)s", place=place, reason=reason
        )
    message = ErrorText(
        "%(place)s refuses (%(status)s): %(reason)s", place=place, status=status, reason=reason
    )
    return RefusedError(message, status, refusal.types)


def entry_refused(place: str, refusal: Refusal, action: str | ErrorText) -> EngineError:
    """Return the error for a refused entry; `action` describes the failed action."""
    return _known(place, refusal) or EngineError.translated(
        "%(place)s %(action)s: %(reason)s", place=place, action=action, reason=refusal.reason
    )


def _known(place: str, refusal: Refusal) -> EngineError | None:
    if refusal.full:
        return EngineFullError.translated(
            "%(place)s has no space left: %(reason)s; free space, then import again",
            place=place,
            reason=refusal.reason,
        )
    if refusal.blocked:
        return EngineBusyError.translated(
            "%(place)s does not allow writing now: %(reason)s; if `nwx reshard` is "
            "running, wait for it to end; if it was killed, run `nwx reshard INDEX --undo`",
            place=place,
            reason=refusal.reason,
        )
    if _POINT_IN_TIME_LOST in refusal.types:
        return EngineUnavailableError.translated(
            "%(place)s lost its search context, as when a node leaves: %(reason)s; try again",
            place=place,
            reason=refusal.reason,
        )
    if _INDEX_MISSING in refusal.types:
        return missing_archive(place, refusal.reason)
    return None


def missing_archive(place: str, reason: str) -> EngineError:
    """Return the error for a missing index, or an archive without any."""
    return IndexMissingError.translated(
        "there is no such archive on %(place)s: %(reason)s; import into it first, "
        "or check the prefix",
        place=place,
        reason=reason,
    )


def another_product(
    product: str, address: str, status: int | None = None, mimetype: str | None = None
) -> EngineError:
    """Return the error for an address at which something other than the product answers."""
    answer = f" (HTTP {status}, {mimetype or 'no content type'})" if status else ""
    return EngineError.translated(
        "the server at %(address)s is not an %(product)s%(answer)s; check the address: http:// "
        "names an Elasticsearch, opensearch+http:// an OpenSearch",
        address=address,
        product=product,
        answer=answer,
    )


def unanswered(place: str, seconds: float) -> EngineError:
    """Return the error for a request that was not answered in time."""
    return EngineUnavailableError.translated(
        "%(place)s did not answer within %(seconds)s s; check its health, or allow more time",
        place=place,
        seconds=seconds,
    )


def unreachable(product: str, address: str, error: Exception) -> EngineError:
    """Return the error for a failed connection: host, port, cause, and what to check."""
    parts = urlsplit(address)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = parts.port or DEFAULT_PORTS[parts.scheme]
    causes = (_cause(one, product) for one in _chain(error))
    other = ErrorText(type(error).__name__), ErrorText("check the address, and that it is running")
    cause, advice = next(filter(None, causes), other)
    return EngineUnavailableError.translated(
        "no connection to %(product)s at %(host)s:%(port)s: %(cause)s; %(advice)s",
        product=product.lower(),
        host=host,
        port=str(port),
        cause=cause,
        advice=advice,
    )


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and its causes, root cause first."""
    found: list[BaseException] = []
    one: BaseException | None = error
    while one is not None and one not in found:
        found.append(one)
        others = getattr(one, "errors", ())
        one = others[-1] if others else one.__cause__ or one.__context__
    return reversed(found)


def _cause(error: BaseException, product: str) -> tuple[ErrorText, ErrorText] | None:
    """Return the meaning and remedy of an exception; None if another explains more."""
    match error:
        case ssl.SSLCertVerificationError():
            return (
                ErrorText(
                    "its certificate is not trusted (%(reason)s)", reason=error.verify_message
                ),
                ErrorText(
                    "name its authority with --ca-file, or accept any certificate with --insecure"
                ),
            )
        case ssl.SSLError():
            return (
                ErrorText("the server does not use TLS"),
                ErrorText("check whether the address begins with http://"),
            )
        case socket.gaierror():
            return (
                ErrorText("the host name is unknown"),
                ErrorText("check its spelling, and the network"),
            )
        case ConnectionRefusedError():
            return (
                ErrorText("connection refused"),
                ErrorText("check the port, and that %(product)s is running there", product=product),
            )
        case ConnectionResetError() | BrokenPipeError() | http.client.RemoteDisconnected():
            return (
                ErrorText("the connection was closed"),
                ErrorText("check the port, and whether the address begins with https://"),
            )
        case http.client.HTTPException():
            return ErrorText("the server does not use HTTP"), ErrorText("check the port")
        case OSError() if error.strerror:
            return (
                ErrorText(error.strerror.lower()),
                ErrorText("check the address and the network"),
            )
    return None


@contextmanager
def query_errors() -> Iterator[None]:
    """Raise QueryError if the server rejects a query within the context."""
    try:
        yield
    except RefusedError as error:
        if error.status == _BAD_REQUEST:
            raise QueryError.translated(
                "the server does not accept this query: %(reason)s", reason=error
            ) from error
        raise


def missing_shards(answer: Mapping[str, Any]) -> int:
    """Return the number of shards of a search that did not answer, or not in time."""
    shards = answer.get("_shards")
    if not isinstance(shards, dict):
        return 0
    failed = int(shards.get("failed", 0))
    if "hits" in answer or "count" in answer:
        failed = max(failed, int(shards["total"]) - int(shards["successful"]))
        if answer.get("timed_out"):
            failed = max(failed, 1)
    return failed


def check_whole(place: str, answer: Mapping[str, Any]) -> None:
    """Raise PartialAnswerError if shards did not answer, in any part of an answer.

    A shard without an active copy counts as failed in a search, but not in `_refresh`, `_flush`,
    `_forcemerge` and `_stats`, where it is only missing among the successful ones, like copies not
    yet allocated (seen with Elasticsearch 9.2).
    """
    for one in (answer, *answer.get("responses", ())):
        if missing := missing_shards(one):
            raise partial_answer(place, missing, int(one["_shards"]["total"]), _missing_reason(one))


def partial_answer(
    place: str, missing: int, shards: int, reason: str | ErrorText = ""
) -> PartialAnswerError:
    """Return the error for an answer with missing shards."""
    lacking = ErrorText(
        "%(missing)s of %(shards)s shards of %(place)s did not answer",
        missing=missing,
        shards=shards,
        place=place,
    )
    if reason:
        lacking = ErrorText("%(lacking)s (%(reason)s)", lacking=lacking, reason=reason)
    return PartialAnswerError.translated(
        "%(lacking)s, and incomplete answers are not shown; see `nwx stats`, or search "
        "with --partial",
        lacking=lacking,
    )


def _missing_reason(answer: Mapping[str, Any]) -> str | ErrorText:
    for failure in answer["_shards"].get("failures", ()):
        reason = failure.get("reason") or {}
        return f"shard {failure.get('shard')} of {failure.get('index')}: {reason.get('type')}"
    return ErrorText("it took too long") if answer.get("timed_out") else ""
