"""The request log, and counts and times of requests in a file mapped by all server processes.

Each process writes to its own segment of the file, so that none waits for another. When it has
ended, the next process takes over the segment with its counts: sums never fall.
"""

import fcntl
import json
import logging
import mmap
import os
import secrets
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from nwx.errors import SettingsError

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
