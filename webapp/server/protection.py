"""Protection of the service: rate limits of clients, and the files shared by its processes."""

import ctypes
import errno
import fcntl
import hashlib
import math
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

from flask import Flask, current_app, request
from flask_babel import gettext
from werkzeug.exceptions import TooManyRequests

from nwx import Archive
from nwx.access.logins import client_network
from nwx.bulk.resources import temporary_folder
from nwx.bulk.whole_files import writing
from nwx.settings import ProtectionSettings
from webapp.headers import has_token
from webapp.server.metrics import RequestCounts, RequestLog, show_metrics
from webapp.site.viewer import (
    PASS_ENVIRON,
    PASSES_EXTENSION,
    REMOTE_USER,
    VIEWER_EXTENSION,
    viewer_of,
)

_KEY_BYTES = 16
_SETS, _WAYS = 8_192, 8
_SET = struct.Struct("=" + _WAYS * "Qd")
_NOISE_SECONDS = 1e-6
_BUCKET = struct.Struct("=Qd")

# `fcntl.flock` releases the GIL, and may then wait for it while the file is locked.
_flock = ctypes.PyDLL(None, use_errno=True).flock


class TokenBuckets:
    """Token buckets of clients in a file, shared by all processes.

    The file is locked with flock: the kernel releases it when a process is killed.
    `clock` returns seconds, the same in all processes.
    """

    def __init__(self, path: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._file = path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), 0)
        self._key = self._map[:_KEY_BYTES]
        self._lock = threading.Lock()
        self.hash_of = lru_cache(10_000)(self._hash_of)

    @staticmethod
    def create(path: Path) -> None:
        """Create a file of full buckets, not sparse: a full disk would kill mapping processes."""
        path.write_bytes(os.urandom(_KEY_BYTES) + bytes(_SETS * _SET.size))

    def take(self, client: str, cost: float, rate: float, burst: float) -> float:
        """Take `cost` tokens and return 0; if there are too few, return the seconds to wait.

        A bucket holds up to `burst` tokens, and is refilled with `rate` per second.
        """
        hashed = self.hash_of(client)
        start = _KEY_BYTES + hashed % _SETS * _SET.size
        with self._locked():
            now = self._clock()
            values: tuple[Any, ...] = _SET.unpack_from(self._map, start)
            hashes, times = values[::2], values[1::2]
            if hashed in hashes:
                way = hashes.index(hashed)
                full_at = min(max(times[way], now), now + burst / rate)
            else:
                way, full_at = times.index(min(times)), now
            full_at += cost / rate
            wait: float = full_at - now - burst / rate
            wait = wait if wait > _NOISE_SECONDS else 0.0
            if not wait:
                _BUCKET.pack_into(self._map, start + way * _BUCKET.size, hashed, full_at)
        return wait

    def close(self) -> None:
        """Close the file."""
        self._map.close()
        self._file.close()

    def _hash_of(self, client: str) -> int:
        """Return the keyed hash of a client: nobody can choose whose bucket to displace."""
        data = client.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(data, digest_size=8, key=self._key).digest()
        return int.from_bytes(digest, "little")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        descriptor = self._file.fileno()
        with self._lock:
            while _flock(descriptor, fcntl.LOCK_EX):
                if ctypes.get_errno() != errno.EINTR:
                    raise OSError(ctypes.get_errno(), "cannot lock the token buckets")
            try:
                yield
            finally:
                _flock(descriptor, fcntl.LOCK_UN)


LIMITS_EXTENSION = "nwx-client-limits"
ROUTE = "nwx.route"
"""The environment key of the route that answers a request."""

BURST_SECONDS = 60.0
LEAST_BURST = 600.0
"""A page with hundreds of resources is replayed at once, however low the rate."""

USER_SHARE, TOKEN_SHARE = 10, 100
"""Rates of a known user and of a program with a token, as multiples of a network's rate."""

LOOK_UP, PAGE, SEARCH, SCAN, EXPORT = 1.0, 2.0, 10.0, 20.0, 60.0
"""Costs of requests by kind, in tokens; a playback request costs as much as a look-up."""

_COSTS: Mapping[str, float] = (
    dict.fromkeys(
        (
            "static",
            "health",
            "health.health",
            "metrics.show",
            "pages.robots",
            "robots",
            "pages.favicon",
        ),
        0.0,
    )
    | dict.fromkeys(
        ("playback", "cdx", "memento", "dedup", "queue", "pictures", "api.suggest"),
        LOOK_UP,
    )
    | dict.fromkeys(
        ("search.results", "api.search", "facets", "explore", "trends", "picture_api", "sparql"),
        SEARCH,
    )
    | {"sql.show": SEARCH, "sql.rows": EXPORT}
    | dict.fromkeys(("picture_pages", "links", "link_api", "missing", "hosts", "entities"), SEARCH)
    | dict.fromkeys(
        ("exports", "explore.table", "missing.export_missing", "quality.export"), EXPORT
    )
    | {"hosts.export_hosts": EXPORT}
    | {"repairs.export_repairs": EXPORT, "explore.vega": PAGE, "links.graph_picture": SEARCH}
)
"""Costs by endpoint or blueprint, if other than PAGE."""

_OF_PROGRAMS = ("cdx", "memento")
_WAIT = "nwx.rate-wait"


@dataclass(frozen=True, slots=True)
class ClientLimits:
    """The rate limits of a service: `rate` tokens a second for each network, 0 for no limits.

    A client with one of the `tokens` is a known program.
    """

    rate: float
    buckets: TokenBuckets
    tokens: Sequence[str] = ()

    def wait(self, app: Flask, environ: dict[str, Any], cost: float) -> float:
        """Charge a request (only once) and return 0, or the seconds until it can be answered."""
        if not cost:
            return 0.0
        if _WAIT not in environ:
            environ[_WAIT] = 0.0
            payer, share = self._payer(app, environ)
            if share:
                environ[_WAIT] = self.take(payer, cost, share)
        return float(environ[_WAIT])

    def take(self, payer: str, cost: float, share: int = 1) -> float:
        """Take the cost of a request from a bucket; return 0, or the seconds to wait."""
        rate = self.rate * share
        return self.buckets.take(payer, cost, rate, max(LEAST_BURST, BURST_SECONDS * rate))

    def _payer(self, app: Flask, environ: dict[str, Any]) -> tuple[str, int]:
        """Return the bucket that pays for a request, and its share; 0 if its reader has paid."""
        if PASS_ENVIRON in environ:
            passes = app.extensions.get(PASSES_EXTENSION)
            if passes is not None and passes.asker(environ[PASS_ENVIRON]) is not None:
                return "", 0
        header = environ.get("HTTP_AUTHORIZATION", "")
        for number, token in enumerate(self.tokens if header else ()):
            if has_token(header, token, basic=True):
                return f"token {number}", TOKEN_SHARE
        named = header or "HTTP_COOKIE" in environ or environ.get(REMOTE_USER)
        if named and VIEWER_EXTENSION in app.extensions:
            user = viewer_of(app, environ).user
            if user:
                return f"user {user}", USER_SHARE
        return payer_at(environ.get("REMOTE_ADDR", "")), 1


@lru_cache(10_000)
def payer_at(address: str) -> str:
    """Return the name of the bucket of a client's network."""
    return f"network {client_network(address)}"


def question_cost(query_string: str) -> float:
    """Return the cost of a question to the CDX server: SCAN for many URLs, else LOOK_UP."""
    names = set()
    for part in query_string.split("&"):
        name, _, value = part.partition("=")
        names.add(name)
        if name == "matchType" and value != "exact":
            return SCAN
        if name in ("url", "q") and (is_pattern(value) or "prefixquery" in value):
            return SCAN
    return LOOK_UP if names & {"url", "urlkey", "q", "digest"} else SCAN


def is_pattern(url: str) -> bool:
    """Return whether a URL, percent-encoded or not, may be a pattern for several URLs."""
    ends = ("*", "%2a", "%20", "+")  # blanks around a URL are dropped
    return url[:3].lower().startswith(ends) or url[-3:].lower().endswith(ends)


def limit_clients(app: Flask, limits: ClientLimits | None) -> None:
    """Make an application note the route of each request, and refuse those over the limits."""
    app.extensions[LIMITS_EXTENSION] = limits
    app.before_request_funcs.setdefault(None, []).insert(0, _admit)


def _admit() -> None:
    rule = request.url_rule
    if rule is None:
        return
    request.environ[ROUTE] = _route(rule.rule)
    limits: ClientLimits | None = current_app.extensions[LIMITS_EXTENSION]
    if limits is None:
        return
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]
    cost = _COSTS.get(rule.endpoint, _COSTS.get(request.blueprint or "", PAGE))
    if request.blueprint == "cdx" and request.method == "GET":
        cost = question_cost(request.environ["QUERY_STRING"])
    wait = limits.wait(app, request.environ, cost)
    if wait:
        seconds = math.ceil(wait)
        raise TooManyRequests(_words(seconds), retry_after=seconds)


def _words(seconds: int) -> str:
    if request.blueprint in _OF_PROGRAMS or "babel" not in current_app.extensions:
        return f"too many requests; try again in {seconds} s"
    return gettext(
        "You, or others in your network, have sent too many requests. Please try again in"
        " %(seconds)s s.",
        seconds=seconds,
    )


@lru_cache(1_000)
def _route(rule: str) -> str:
    """Return the rule of a route without converters."""
    return "".join(
        part if number % 2 == 0 else f"<{part.rpartition(':')[2]}>"
        for number, part in enumerate(rule.replace(">", "<").split("<"))
    )


@dataclass(frozen=True, slots=True)
class SharedProtection:
    """The shared files of the processes of a service in a folder; no buckets without limits."""

    options: ProtectionSettings
    folder: str

    @classmethod
    def create(cls, stack: ExitStack, options: ProtectionSettings, processes: int) -> Self:
        """Create the files for a number of processes; they are deleted with `stack`.

        Raises SettingsError if the request log cannot be written.
        """
        if options.request_log:
            RequestLog(options.request_log).close()
        shared = cls(options, str(stack.enter_context(temporary_folder())))
        # Processes that are ending overlap with their replacements for a while.
        with writing(Path(shared.folder)):
            RequestCounts.create(shared._counts, 3 * processes)
            if options.rate:
                TokenBuckets.create(shared._buckets)
        return shared

    @classmethod
    def from_json(cls, told: dict[str, Any]) -> Self:
        """Return the instance that `asdict` converted to a dictionary."""
        return cls(ProtectionSettings(**told["options"]), told["folder"])

    def counts(self, stack: ExitStack) -> RequestCounts:
        """Return the request counts, with the request log; closed with `stack`."""
        log = RequestLog(self.options.request_log) if self.options.request_log else None
        if log is not None:
            stack.callback(log.close)
        counts = RequestCounts(self._counts, log)
        stack.callback(counts.close)
        return counts

    def limits(self, stack: ExitStack, tokens: Iterable[str] = ()) -> ClientLimits | None:
        """Return the limits of clients, None if unlimited; closed with `stack`."""
        if not self.options.rate:
            return None
        buckets = TokenBuckets(self._buckets)
        stack.callback(buckets.close)
        return ClientLimits(self.options.rate, buckets, tuple(filter(None, tokens)))

    def protect(
        self,
        app: Flask,
        stack: ExitStack,
        archive: Archive | None,
        tokens: Iterable[str] = (),
        *,
        is_public: bool = False,
    ) -> RequestCounts:
        """Limit the clients of an application and add its metrics; return the request counts."""
        counts = self.counts(stack)
        limit_clients(app, self.limits(stack, tokens))
        show_metrics(app, archive, counts, self.options.metrics_token, is_public=is_public)
        return counts

    @property
    def _counts(self) -> Path:
        return Path(self.folder) / "counts"

    @property
    def _buckets(self) -> Path:
        return Path(self.folder) / "buckets"
