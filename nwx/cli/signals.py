"""Ends that are asked for: Ctrl-C, and SIGTERM from a service manager."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def stop_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM in a list; the second one ends the process as ever."""
    received: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        received.append(number)
        for each in before:
            signal.signal(each, before[each])

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield received
    finally:
        for number in before:
            signal.signal(number, before[number])
