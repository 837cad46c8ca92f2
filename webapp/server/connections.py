"""Which connections stay open: each state has its time, and a full server makes room.

A connection costs little while nothing is answered on it, but there are
only so many. Where they run out, the client that has the most of them
loses the one that waits longest, so that no client locks others out.
"""

from collections import Counter
from collections.abc import Iterable
from enum import Enum, auto
from typing import Protocol, TypeVar

MOST_CONNECTIONS = 500

HEAD_SECONDS = 20.0
"""The time to send the head of a request, however it trickles in."""

BODY_SECONDS = 60.0
"""The time to send a body, for those who may send small ones only."""

IDLE_SECONDS = 60.0
"""The time until the next request, and of those who may send large bodies until the next bytes."""

STUCK_SECONDS = 60.0
STUCK_BYTES = 1 << 16
"""Who takes fewer bytes of a waiting answer in STUCK_SECONDS is not waited for any more."""

UNREAD_SECONDS = 5.0
"""After so long without a byte taken, a connection may be closed to make room."""


class ConnectionState(Enum):
    """What a connection waits for."""

    IDLE = auto()
    HEAD = auto()
    BODY = auto()
    ANSWER = auto()
    READER = auto()


class Connection(Protocol):
    """What is known of a connection; times are seconds of the monotonic clock.

    The client has taken `window_bytes` since `window_began`.
    """

    client: str
    began: float
    last_activity: float
    window_began: float
    doomed: bool

    @property
    def state(self) -> ConnectionState:
        """What the connection waits for."""

    @property
    def sends_much(self) -> bool:
        """Whether the client may send a large body."""

    @property
    def window_bytes(self) -> int:
        """The bytes that the client has taken since its window began."""

    def begin_window(self, now: float) -> None:
        """Count anew what the client takes."""


_Connection = TypeVar("_Connection", bound=Connection)


def is_overdue(connection: Connection, now: float) -> bool:
    """Return whether a connection has had its time."""
    state = connection.state
    if state is ConnectionState.HEAD:
        return now - connection.began > HEAD_SECONDS
    if state is ConnectionState.BODY and not connection.sends_much:
        return now - connection.began > BODY_SECONDS
    if state in (ConnectionState.IDLE, ConnectionState.BODY):
        return now - connection.last_activity > IDLE_SECONDS
    return state is ConnectionState.READER and _is_stuck(connection, now)


def _is_stuck(connection: Connection, now: float) -> bool:
    """Return whether the client took too little of its answer; counts anew after each window."""
    if _unread_seconds(connection, now) > STUCK_SECONDS:
        return True
    if now - connection.window_began <= STUCK_SECONDS:
        return False
    taken = connection.window_bytes
    connection.begin_window(now)
    return taken < STUCK_BYTES


def _unread_seconds(connection: Connection, now: float) -> float:
    """Return for how long a client took nothing of what waits for it."""
    return now - max(connection.last_activity, connection.window_began)


def one_to_close(connections: Iterable[_Connection], now: float) -> _Connection | None:
    """Return the connection to close where room is needed, None where all are being answered."""
    waiting = [one for one in connections if not one.doomed and _may_go(one, now)]
    if not waiting:
        return None
    held = Counter(one.client for one in waiting)
    return max(waiting, key=lambda one: (held[one.client], now - one.last_activity))


def _may_go(connection: Connection, now: float) -> bool:
    if connection.state is ConnectionState.READER:
        return _unread_seconds(connection, now) >= UNREAD_SECONDS
    return connection.state is not ConnectionState.ANSWER
