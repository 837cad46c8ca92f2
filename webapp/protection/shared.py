"""Metrics, and the files shared by the processes of a service for its protection."""

import ipaddress
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any, Self
from urllib.parse import urlsplit

from flask import Blueprint, Flask, Response, current_app, request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from prometheus_client.registry import Collector
from werkzeug.exceptions import Forbidden

from nwx import Archive
from nwx.bulk.resources import temporary_folder
from nwx.bulk.whole_files import writing
from nwx.engine.access.rules import Role
from nwx.errors import EngineError
from nwx.model import UNREADABLE
from nwx.settings import ProtectionSettings
from webapp.headers import has_token
from webapp.protection.client_limits import ClientLimits, TokenBuckets, limit_clients
from webapp.protection.request_counts import BOUNDS, RequestCounts, RequestLog
from webapp.site.viewer import PASS_ENVIRON
from webapp.users.login_page import has_role
from webapp.users.proxies import FORWARDED

blueprint = Blueprint("metrics", __name__)

_EXTENSION = "nwx-metrics"
_LEAST_SECONDS, _SHARE = 5.0, 20
"""Metrics of the archive are cached for 5 seconds, and at least 20 times as long as they took."""

_UPPER = (*map(str, BOUNDS), "+Inf")
_FINISHED, _IMPORTING, _STOPPED = "finished", "importing", "stopped"


@blueprint.get("/metrics")
def show() -> Response:
    """Answer with the metrics.

    Allowed for administrators, clients with the metrics token, and this machine, but not for
    clients of a proxy on it (recognised by a public address, another host name or a header).
    """
    found: ServiceMetrics = current_app.extensions[_EXTENSION]
    proxied = found.is_public or PASS_ENVIRON in request.environ or FORWARDED in request.environ
    names = request.remote_addr, urlsplit(f"//{request.host}").hostname
    near = not proxied and all(map(_is_loopback, names))
    by_token = has_token(request.headers.get("Authorization", ""), found.token)
    if not (near or by_token or has_role(Role.ADMINISTRATOR)):
        raise Forbidden("metrics are for administrators, and who has the token NWX_METRICS_TOKEN")
    return Response(generate_latest(found.registry), content_type=CONTENT_TYPE_LATEST)


def _is_loopback(name: str | None) -> bool:
    try:
        return name == "localhost" or ipaddress.ip_address(name or "").is_loopback
    except ValueError:
        return False


@dataclass(frozen=True, slots=True)
class ServiceMetrics:
    """The metrics of a service and their token; `is_public` if it has a public address."""

    token: str
    is_public: bool
    registry: CollectorRegistry = field(default_factory=lambda: CollectorRegistry())


def show_metrics(
    app: Flask,
    archive: Archive | None,
    counts: RequestCounts | None,
    token: str = "",
    *,
    is_public: bool = False,
) -> None:
    """Add `/metrics` to an application: of the archive, and of all processes of the service."""
    found = ServiceMetrics(token, is_public)
    if archive is not None:
        found.registry.register(_Kept(lambda: _archive_families(archive)))
    if counts is not None:
        found.registry.register(_Requests(counts))
    app.extensions[_EXTENSION] = found
    app.register_blueprint(blueprint)


class _Requests(Collector):
    """Collector of the requests of all processes, and of their open files."""

    def __init__(self, counts: RequestCounts) -> None:
        self._counts = counts

    def collect(self) -> Iterator[Metric]:
        requests = CounterMetricFamily("nwx_requests", "Requests", labels=("route", "status"))
        seconds = HistogramMetricFamily(
            "nwx_request_seconds", "Time to answer, to the last byte", labels=("route",)
        )
        by_route: dict[str, tuple[float, list[int]]] = {}
        for (route, status), times in sorted(self._counts.sums().items()):
            requests.add_metric((route, status), sum(times.numbers))
            so_far, numbers = by_route.get(route, (0.0, [0] * len(_UPPER)))
            both = [a + b for a, b in zip(numbers, times.numbers, strict=True)]
            by_route[route] = so_far + times.seconds, both
        for route, (total, numbers) in by_route.items():
            buckets = list(zip(_UPPER, map(float, accumulate(numbers)), strict=True))
            seconds.add_metric((route,), buckets, total)
        yield from (requests, seconds)
        yield from _open_files(self._counts.processes())


def _open_files(processes: Iterator[int]) -> Iterator[Metric]:
    """Yield the numbers of processes and of their open files; nothing without /proc."""
    number = files = 0
    for process in processes:
        try:
            files += sum(1 for _ in Path(f"/proc/{process}/fd").iterdir())
        except OSError:
            continue
        number += 1
    if number:
        yield GaugeMetricFamily("nwx_processes", "Processes that answer", number)
        yield GaugeMetricFamily("nwx_open_files", "Files and connections open in them", files)


class _Kept(Collector):
    """Collector that caches slow metrics, so that frequent requests cost little."""

    def __init__(self, collect: Callable[[], list[Metric]]) -> None:
        self._collect = collect
        self._lock = Lock()
        self._until = 0.0
        self._found: list[Metric] = []

    def collect(self) -> list[Metric]:
        with self._lock:
            started = time.monotonic()
            if started >= self._until:
                self._found = self._collect()
                now = time.monotonic()
                self._until = now + max(_LEAST_SECONDS, _SHARE * (now - started))
            return self._found

    def describe(self) -> list[Metric]:
        """Return nothing: collecting at registration would fail if the archive is unavailable."""
        return []


def _archive_families(archive: Archive) -> list[Metric]:
    """Return the metrics of an archive; only `nwx_up` 0 if it is unavailable."""
    try:
        found = [
            *(
                GaugeMetricFamily(f"nwx_{index}", f"{index.title()} in the archive", number)
                for index in ("captures", "documents")
                for number in (archive.count(index),)
            ),
            *_queue_families(archive),
            *_import_families(archive),
        ]
    except EngineError:
        found = []
    return [GaugeMetricFamily("nwx_up", "Whether the archive answers", bool(found)), *found]


def _queue_families(archive: Archive) -> Iterator[Metric]:
    counts, outbox = archive.queue_counts()
    yield _by_label("nwx_queue_urls", "URLs of the crawler's queue", "state", asdict(counts))
    yield _by_label("nwx_outbox_updates", "Updates that wait for a queue", "queue", outbox)


def _import_families(archive: Archive) -> Iterator[Metric]:
    files = dict.fromkeys((_FINISHED, _IMPORTING, _STOPPED, UNREADABLE), 0)
    known = done = 0
    for one in archive.imported_files():
        failed = UNREADABLE if one.file.counts.get(UNREADABLE) else _STOPPED
        state = _IMPORTING if one.claim else failed
        files[_FINISHED if one.file.finished else state] += 1
        size = one.file.size or one.file.done_to
        known += size
        done += size if one.file.finished else one.file.done_to
    yield _by_label("nwx_import_files", "Archive files by how far they are", "state", files)
    yield GaugeMetricFamily("nwx_import_bytes", "Bytes of the archive files", known)
    yield GaugeMetricFamily("nwx_import_done_bytes", "Bytes of them that are imported", done)


def _by_label(name: str, words: str, label: str, numbers: Mapping[str, Any]) -> Metric:
    family = GaugeMetricFamily(name, words, labels=(label,))
    for value, number in numbers.items():
        family.add_metric((value,), number)
    return family


@dataclass(frozen=True, slots=True)
class SharedProtection:
    """The shared files of the processes of a service in a folder; no buckets without limits."""

    options: ProtectionSettings
    folder: str

    @classmethod
    def create(cls, stack: ExitStack, options: ProtectionSettings, processes: int) -> Self:
        """Create the files for a number of processes; they are deleted with `stack`."""
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
