"""One monitor at a time writes the state of a crawl."""

import os
import secrets
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from nwx.errors import UsageError
from nwx.quality.monitor.state import StateBlobs
from nwx.values.timestamps import parse_timestamp, to_timestamp

_LOOKS, _LEAST_SECONDS = 3, 30.0


class _Owner(NamedTuple):
    """Who writes a state: the process, since when it was not heard of, and how often it looks."""

    host: str
    pid: int
    token: str
    seen: str
    interval_seconds: float


@dataclass(slots=True)
class Ownership:
    """The right to write the state of a monitor, taken when it is first renewed.

    It ends with the process that has it, or when nothing was heard of it for
    some looks: it may be on another machine, and a process may have got the
    number of one that was killed.
    """

    blobs: StateBlobs
    name: str
    clock: Callable[[], datetime]
    interval_seconds: float
    _token: str = field(default_factory=lambda: secrets.token_hex(8))

    def renew(self) -> None:
        """Take the right, or keep it; raises UsageError where another monitor has it."""
        other = self._read()
        if other is not None and self._may_run(other):
            raise UsageError(
                f"another monitor of {self.name!r} runs (on {other.host}, process {other.pid}); "
                f"end it first"
            )
        moment = to_timestamp(self.clock())
        if other is not None and other.token == self._token and moment < _later(other.seen):
            return
        own = _Owner(socket.gethostname(), os.getpid(), self._token, moment, self.interval_seconds)
        self.blobs.put_state(self._key, msgspec.json.encode(own))

    def end(self) -> None:
        """Leave the right to others, unless another has it already."""
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
        silent = (self.clock() - parse_timestamp(other.seen)).total_seconds()
        return silent < max(_LOOKS * other.interval_seconds, _LEAST_SECONDS)


def _later(seen: str) -> str:
    """Return until when a word of an owner is fresh enough."""
    return to_timestamp(parse_timestamp(seen) + timedelta(seconds=_LEAST_SECONDS / 3))


def _runs(pid: int) -> bool:
    """Tell whether there is a process of this number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
