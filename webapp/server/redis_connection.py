"""A connection of a crawler in Redis' protocol (RESP2), with limits on what it may send."""

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

from nwx.dedup.key_store import CommandError
from nwx.dedup.redis_commands import Status

MOST_COMMAND_BYTES = 8 << 20
MOST_ARGUMENTS = 10_000
COMMAND_SECONDS = 20.0
"""The time to send a whole command, and to read answers once the send buffer is full."""

_MOST_WAITING = 5_000
_LONGEST_LINE = 16
_LINE_END = b"\r\n"

RedisRequest = list[bytes]


class RequestReader:
    """Parses commands: arrays of bulk strings in RESP2.

    Not `hiredis`: with it, pywb's Redis client warns that its version is old, and it allocates a
    list before the items arrive.
    """

    def __init__(self) -> None:
        self._data = bytearray()
        self._request: RedisRequest = []
        self._missing = self._bytes = 0

    @property
    def has_part(self) -> bool:
        """Whether an incomplete command was read."""
        return bool(self._data or self._missing)

    def feed(self, data: bytes) -> Iterator[RedisRequest]:
        """Yield the commands completed by `data`. Raises CommandError on invalid input."""
        self._data += data
        held, place = bytes(self._data), 0
        try:
            while (after := self._step(held, place)) is not None:
                place = after
                if not self._missing and self._request:
                    yield self._request
                    self._request = []
        finally:
            del self._data[:place]

    def _step(self, held: bytes, place: int) -> int | None:
        """Parse an array head or an item; return the position after it, None if incomplete."""
        end = held.find(_LINE_END, place, place + _LONGEST_LINE)
        if end < 0:
            if len(held) - place >= _LONGEST_LINE:
                raise _protocol_error("too long a line")
            return None
        kind, text = held[place : place + 1], held[place + 1 : end]
        if kind != (b"$" if self._missing else b"*"):
            raise _protocol_error("expected a list of strings")
        if not text.isdigit():
            raise _protocol_error("invalid length")
        number = int(text)
        if not self._missing:
            if number > MOST_ARGUMENTS:
                raise _protocol_error("too many arguments")
            self._missing, self._bytes = number, 0
            return end + 2
        if self._bytes + number > MOST_COMMAND_BYTES:
            raise _protocol_error("too big command")
        after = end + 4 + number
        if len(held) < after:
            return None
        if held[after - 2 : after] != _LINE_END:
            raise _protocol_error("expected the end of a string")
        self._request.append(held[end + 2 : after - 2])
        self._missing -= 1
        self._bytes += number
        return after


def _protocol_error(problem: str) -> CommandError:
    return CommandError(f"ERR Protocol error: {problem}")


def redis_bytes(answer: Any) -> bytes:
    """Return an answer in RESP2."""
    if answer is None:
        return b"$-1\r\n"
    if isinstance(answer, bytes):
        return b"$%d\r\n%b\r\n" % (len(answer), answer)
    if isinstance(answer, int):
        return b":%d\r\n" % answer
    if isinstance(answer, Status):
        return b"+%b\r\n" % answer.text
    if isinstance(answer, CommandError):
        text = str(answer).replace("\r", " ").replace("\n", " ")
        return b"-%b\r\n" % text.encode("latin-1", "replace")
    return b"*%d\r\n%b" % (len(answer), b"".join(map(redis_bytes, answer)))


class RedisHost(Protocol):
    """The interface of the server for its connections."""

    def opened(self, connection: "RedisConnection") -> bool:
        """Register a new connection; return whether there is room for it."""

    def closed(self, connection: "RedisConnection") -> None:
        """Unregister a closed connection."""

    def wake(self, connection: "RedisConnection") -> None:
        """Schedule the commands of a connection."""


class RedisConnection(asyncio.Protocol):
    """Reads commands, which its server answers in order.

    `space` is the collection of its database, `may_ask` whether the client is logged in. While it
    `is_waiting` for an answer of the archive, no more of its commands are run.
    """

    transport: asyncio.Transport

    def __init__(self, host: RedisHost, clock: Callable[[], float] = time.monotonic) -> None:
        self._host, self._clock = host, clock
        self._reader = RequestReader()
        self._part_since: float | None = None
        self._full_since: float | None = None
        self._is_ending = False
        self.requests: deque[RedisRequest] = deque()
        self.space, self.may_ask, self.is_waiting = "", False, False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection, or refuse it if there are too many."""
        self.transport = cast(asyncio.Transport, transport)
        if not self._host.opened(self):
            self.end("ERR max number of clients reached")

    def connection_lost(self, exc: Exception | None) -> None:
        """Drop waiting commands, and unregister the connection."""
        self._is_ending = True
        self.requests.clear()
        self._host.closed(self)

    def data_received(self, data: bytes) -> None:
        """Parse commands and schedule them; pause reading if too many wait."""
        if self._is_ending:
            return
        before = len(self.requests)
        try:
            self.requests.extend(self._reader.feed(data))
        except CommandError as error:
            self.end(str(error))
            return
        if not self._reader.has_part:
            self._part_since = None
        elif self._part_since is None or len(self.requests) > before:
            self._part_since = self._clock()
        if len(self.requests) > _MOST_WAITING:
            self.transport.pause_reading()
        if self.requests:
            self._host.wake(self)

    @property
    def is_ready(self) -> bool:
        """Whether a command may be run now."""
        return bool(self.requests) and not self.is_waiting and self._full_since is None

    def send(self, answers: Sequence[Any]) -> None:
        """Send answers, and resume reading if few commands wait."""
        if not self._is_ending:
            self.transport.write(b"".join(map(redis_bytes, answers)))
            if len(self.requests) <= _MOST_WAITING and not self.transport.is_reading():
                if self._part_since is not None:
                    self._part_since = self._clock()
                self.transport.resume_reading()

    def end(self, problem: str = "") -> None:
        """Close the connection after sending the buffered answers and the error, if given."""
        if problem:
            self.transport.write(redis_bytes(CommandError(problem)))
        self._is_ending = True
        self.requests.clear()
        self.transport.close()

    def pause_writing(self) -> None:
        """Run no commands until the client has read its answers."""
        self._full_since = self._clock()

    def resume_writing(self) -> None:
        """Continue with waiting commands."""
        self._full_since = None
        self._host.wake(self)

    def check_time(self) -> None:
        """Close the connection if a command is incomplete, or answers unread, for too long.

        The time of a command does not count while the server pauses reading.
        """
        part = self._part_since if self.transport.is_reading() else None
        since = [one for one in (part, self._full_since) if one is not None]
        if since and self._clock() - min(since) > COMMAND_SECONDS:
            self.transport.abort()
