"""The request log, counts and times of requests in a file of all processes, and metrics."""

import fcntl
import ipaddress
import json
import logging
import mmap
import os
import secrets
import time
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import accumulate
from pathlib import Path
from threading import Lock
from typing import Any
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
from nwx.engine.access.rules import Role
from nwx.errors import EngineError, SettingsError
from nwx.model import UNREADABLE
from webapp.headers import has_token
from webapp.login_page import has_role
from webapp.site.viewer import FORWARDED, PASS_ENVIRON

REQUEST_ID = "nwx.request-id"
"""The environment key of the id of a request."""

_MOST_CHARACTERS = 2_000
_ID_CHARACTERS = 64
_logger = logging.getLogger("nwx.server")


def request_id(environ: dict[str, Any]) -> str:
    """Return the id of a request: X-Request-Id as set by a proxy, or a new one."""
    found = environ.get(REQUEST_ID)
    if found is None:
        given = str(environ.get("HTTP_X_REQUEST_ID", ""))
        is_usable = given.isascii() and given.replace("-", "").isalnum()
        found = given[:_ID_CHARACTERS] if is_usable else secrets.token_hex(8)
        environ[REQUEST_ID] = found
    return str(found)


class RequestLog:
    """Appends lines to a log file, `-` for standard error, one write per line; may be shared.

    Raises SettingsError if the file cannot be opened.
    """

    def __init__(self, path: str) -> None:
        try:
            if path == "-":
                self._file = os.fdopen(os.dup(2), "wb", buffering=0)
            else:
                self._file = Path(path).open("ab", buffering=0)  # noqa: SIM115
        except OSError as error:
            raise SettingsError(f"the log of requests {path}: {error.strerror}") from error
        self._has_failed = False

    def add(self, environ: dict[str, Any], status: int, seconds: float) -> None:
        """Write the line of a request; the first failed write is reported."""
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
            "id": request_id(environ),
            "client": environ.get("REMOTE_ADDR", ""),
            "method": environ.get("REQUEST_METHOD", ""),
            "path": f"{environ.get('SCRIPT_NAME', '')}{environ.get('PATH_INFO', '')}",
            "query": environ.get("QUERY_STRING", ""),
            "status": status,
            "seconds": round(seconds, 6),
            "agent": environ.get("HTTP_USER_AGENT", ""),
        }
        kept = {
            name: value[:_MOST_CHARACTERS] if isinstance(value, str) else value
            for name, value in line.items()
        }
        try:
            self._file.write(json.dumps(kept).encode() + b"\n")
        except OSError as error:
            if not self._has_failed:
                _logger.warning("the log of requests cannot be written: %s", error.strerror)
            self._has_failed = True

    def close(self) -> None:
        """Close the file."""
        self._file.close()


BOUNDS = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)
"""The upper bounds of the time buckets in seconds; the last bucket has none."""

OTHER_ROUTE = "other"
"""The route of requests without a page, and of routes that have no room in a segment."""

_REST = f"0 {OTHER_ROUTE}"
_WORD = 8
_LABEL_BYTES = 160
_NUMBERS = _LABEL_BYTES // _WORD
_ROW_WORDS = _NUMBERS + 1 + len(BOUNDS) + 1
_ROWS = 256
_SEGMENT_WORDS = 1 + _ROWS * _ROW_WORDS  # the process id comes first


@dataclass(slots=True)
class RouteTimes:
    """The times of the requests of a route and status: total seconds, and counts by BOUNDS."""

    seconds: float = 0.0
    numbers: list[int] = field(default_factory=lambda: [0] * (len(BOUNDS) + 1))


class RequestCounts:
    """The counts of all processes, and the segment of this process.

    Each process writes to its own segment of the file, so that none waits for another. When it
    has ended, the next process takes over the segment with its counts: sums never fall.
    One thread counts; others may read. Each request is written to `log` too, if given.
    """

    def __init__(self, path: Path, log: RequestLog | None = None) -> None:
        self.log = log
        self._file = path.open("r+b")
        self._map = mmap.mmap(self._file.fileno(), 0)
        self._words = memoryview(self._map).cast("Q")
        self._sums = memoryview(self._map).cast("d")
        self._segments = len(self._words) // _SEGMENT_WORDS
        free = filter(self._lock, range(self._segments))
        if (own := next(free, None)) is None:
            self.close()
            raise SettingsError("there are more server processes than can be counted")
        self._own = own
        self._words[self._own * _SEGMENT_WORDS] = os.getpid()
        self._rows = {label: row for row, label in self._labelled(self._own)}
        self._used = len(self._rows)

    @staticmethod
    def create(path: Path, processes: int) -> None:
        """Create a file for at most `processes` concurrent processes, not sparse."""
        path.write_bytes(bytes(processes * _SEGMENT_WORDS * _WORD))

    def add(self, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        label = f"{status} {route}"
        row = self._rows.get(label) or self._new_row(label)
        self._sums[row + _NUMBERS] += seconds
        self._words[row + _NUMBERS + 1 + bisect_left(BOUNDS, seconds)] += 1

    def sums(self) -> Mapping[tuple[str, str], RouteTimes]:
        """Return the times by route and status, summed over all processes."""
        found: dict[tuple[str, str], RouteTimes] = {}
        for segment in range(self._segments):
            for row, label in self._labelled(segment):
                status, _, route = label.partition(" ")
                times = found.setdefault((route, status), RouteTimes())
                times.seconds += self._sums[row + _NUMBERS]
                numbers = self._words[row + _NUMBERS + 1 : row + _ROW_WORDS]
                times.numbers = [a + b for a, b in zip(times.numbers, numbers, strict=True)]
        return found

    def processes(self) -> Iterator[int]:
        """Yield the ids of the running processes."""
        for segment in range(self._segments):
            process = self._words[segment * _SEGMENT_WORDS]
            if segment == self._own or (process and not self._lock(segment)):
                yield process
            else:
                fcntl.lockf(self._file, fcntl.LOCK_UN, 1, segment)

    def close(self) -> None:
        """Close the file, leaving the segment to the next process."""
        self._words.release()
        self._sums.release()
        self._map.close()
        self._file.close()

    def _lock(self, segment: int) -> bool:
        """Lock a segment until this process ends; return whether that succeeded."""
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, segment)
        except OSError:
            return False
        return True

    def _labelled(self, segment: int) -> Iterator[tuple[int, str]]:
        first = segment * _SEGMENT_WORDS + 1
        for row in range(first, first + _ROWS * _ROW_WORDS, _ROW_WORDS):
            start = row * _WORD
            label = self._map[start : start + _LABEL_BYTES].rstrip(b"\0")
            if not label:
                return
            yield row, label.decode("utf-8", "replace")

    def _new_row(self, label: str) -> int:
        """Return a row for a label; labels without room share the last row."""
        known = label.encode()[:_LABEL_BYTES].decode("utf-8", "ignore")
        if known not in self._rows and self._used >= _ROWS - 1:
            known = _REST
        if known not in self._rows:
            data, row = known.encode(), self._own * _SEGMENT_WORDS + 1 + self._used * _ROW_WORDS
            self._map[row * _WORD : row * _WORD + len(data)] = data
            self._rows[known] = row
            self._used += 1
        self._rows[label] = self._rows[known]
        return self._rows[known]


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
