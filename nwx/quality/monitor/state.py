"""State of a monitor, stored in the archive so that it continues after a restart."""

import os
import secrets
import socket
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import QualityIndex
from nwx.errors import EngineError, UsageError
from nwx.quality.monitor.report import Alert, LogProblem, MonitorReport
from nwx.quality.monitor.sums import Sums
from nwx.values.records import copied
from nwx.values.timestamps import parse_timestamp, to_timestamp

_RULES = 1
_MOST_PROBLEMS = 20
_MOST_BYTES = 256 << 20


@dataclass(slots=True)
class MonitorState:
    """The stored state of the monitor of a crawl.

    `mark` is the position up to which the archive's captures were counted, `log_place` the position
    in the log (`FollowedPlace` as JSON). `covered_from` is the time of the earliest fetch in a log;
    later fetches are counted from logs alone.
    """

    name: str
    collection: str
    began: str
    rules: int = _RULES
    looked: str = ""
    interval_seconds: float = 0.0
    crawl_log: str = ""
    mark: str = ""
    log_place: str = ""
    covered_from: str = ""
    sums: Sums = field(default_factory=Sums)
    queue_source: str = ""
    queue: dict[str, int] = field(default_factory=dict)
    alerts: list[Alert] = field(default_factory=list)
    alerts_total: int = 0
    log_lines: int = 0
    problems: list[LogProblem] = field(default_factory=list)
    problems_total: int = 0

    def note(self, file: str, offset: int | None, message: str) -> None:
        """Count a problem, and keep the last ones."""
        self.problems_total += 1
        self.problems.append(LogProblem(file, offset, message))
        del self.problems[:-_MOST_PROBLEMS]

    def note_once(self, file: str, message: str) -> None:
        """Count a problem that each look finds, unless it is the last one noted."""
        if self.problems[-1:] != [LogProblem(file, None, message)]:
            self.note(file, None, message)

    def emptied(self) -> "MonitorState":
        """Return a state with empty counts; alerts are kept, so that none is sent twice."""
        return MonitorState(
            self.name,
            self.collection,
            self.began,
            crawl_log=self.crawl_log,
            alerts=self.alerts,
            alerts_total=self.alerts_total,
        )

    def report(self) -> MonitorReport:
        """Return the report of the crawl."""
        sums, hosts = self.sums, self.sums.hosts
        return copied(
            MonitorReport,
            self,
            sums,
            totals=sums.totals.minute_counts(),
            minutes=sums.times.minutes(),
            statuses=dict(sorted(sums.statuses.items())),
            types=sums.told_types(),
            hosts=hosts.top_hosts(),
            hosts_counted=len(hosts.hosts),
            hosts_dropped=hosts.dropped,
            other_hosts=hosts.other.host_counts(""),
            queued=self.queue.get("queued", self.queue.get("waiting")),
            queue=dict(self.queue),
            alerts=tuple(reversed(self.alerts)),
            problems=tuple(self.problems),
        )


def read_state(blobs: QualityIndex, name: str) -> MonitorState | None:
    """Return the state of a monitor, None if it has none.

    Raises EngineError on a damaged state or one of a newer version.
    """
    stored = blobs.state(_key(name))
    if stored is None:
        return None
    try:
        unpacker = zlib.decompressobj()
        content = unpacker.decompress(stored, _MOST_BYTES)
        if not unpacker.eof:
            raise ValueError("it is truncated or too large")
        state = msgspec.json.decode(content, type=MonitorState)
    except (zlib.error, ValueError) as error:
        raise EngineError.translated(
            "the state of the monitor %(name)s is damaged (%(reason)s); `nwx monitor %(given)s"
            " --anew` starts again",
            name=repr(name),
            reason=error,
            given=name,
        ) from error
    if state.rules > _RULES:
        raise EngineError.translated(
            "the monitor %(name)s was made by a newer version of nwx; update nwx", name=repr(name)
        )
    return state


def write_state(blobs: QualityIndex, state: MonitorState) -> None:
    """Store the state of a monitor, replacing the previous one."""
    blobs.put_state(_key(state.name), zlib.compress(msgspec.json.encode(state), 1))


def read_monitor(engine: Engine, name: str) -> MonitorReport | None:
    """Return the report of the monitor of a crawl, None if it was never monitored.

    Raises EngineError if the archive cannot be read.
    """
    state = read_state(engine.quality_index(), name)
    return state.report() if state else None


def _key(name: str) -> str:
    return f"monitor:{name}"


_LOOKS, _LEAST_SECONDS = 3, 30.0


class _Owner(NamedTuple):
    """The owner of a state: its process, its last renewal, and how often it looks."""

    host: str
    pid: int
    token: str
    seen: str
    interval_seconds: float


@dataclass(slots=True)
class Ownership:
    """The lock for writing the state of a monitor, acquired by the first renewal.

    It expires when its process has ended, or when it was not renewed for several intervals: the
    process may run on another machine, and the id of a killed process may be reused.
    """

    blobs: QualityIndex
    name: str
    clock: Callable[[], datetime]
    interval_seconds: float
    _token: str = field(default_factory=lambda: secrets.token_hex(8))

    def renew(self) -> None:
        """Acquire or keep the lock; raises UsageError if another monitor has it."""
        other = self._read()
        if other is not None and self._may_run(other):
            raise UsageError(
                f"another monitor of {self.name!r} runs (on {other.host}, process {other.pid});"
                " stop it first"
            )
        moment = to_timestamp(self.clock())
        if (
            other is not None
            and other.token == self._token
            and (other.seen <= moment < _later(other.seen))
        ):
            return
        own = _Owner(socket.gethostname(), os.getpid(), self._token, moment, self.interval_seconds)
        self.blobs.put_state(self._key, msgspec.json.encode(own))

    def end(self) -> None:
        """Release the lock, unless another monitor has it."""
        other = self._read()
        if other is not None and other.token == self._token:
            self.blobs.put_state(self._key, b"")

    @property
    def _key(self) -> str:
        return f"monitor-owner:{self.name}"

    def _read(self) -> _Owner | None:
        stored = self.blobs.state(self._key)
        try:
            return msgspec.json.decode(stored, type=_Owner) if stored else None
        except msgspec.DecodeError:
            return None

    def _may_run(self, other: _Owner) -> bool:
        if other.token == self._token:
            return False
        if other.host == socket.gethostname() and not _runs(other.pid):
            return False
        # A renewal in the future was written before the clock was set back.
        silent = abs((self.clock() - parse_timestamp(other.seen)).total_seconds())
        return silent < max(_LOOKS * other.interval_seconds, _LEAST_SECONDS)


def _later(seen: str) -> str:
    """Return until when a renewal is recent enough not to be repeated."""
    return to_timestamp(parse_timestamp(seen) + timedelta(seconds=_LEAST_SECONDS / 3))


def _runs(pid: int) -> bool:
    """Return whether a process with this id exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
