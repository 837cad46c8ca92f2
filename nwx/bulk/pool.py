"""Work shared by processes, or done here where there is little."""

import multiprocessing
import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from functools import cache
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np

from nwx.errors import SourceError

_LARGE_BYTES = 31 << 20
_MOST_AT_ONCE = 16
_SHARES = 8

Result = TypeVar("Result")


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@cache
def keep_memory() -> None:
    """Make this process reuse the memory of its arrays instead of giving it back each time.

    glibc returns large blocks to the system at once, and getting them anew
    can cost as much as the work on them; freeing one of just below 32 MB
    raises its threshold to that.
    """
    np.empty(_LARGE_BYTES, np.uint8)


class Pool:
    """Processes that share work; with one worker it is done in this process."""

    def __init__(self, workers: int) -> None:
        self._processes: ProcessPoolExecutor | None = None
        self._workers = workers
        if workers > 1:
            fresh = multiprocessing.get_context("spawn")
            self._processes = ProcessPoolExecutor(workers, mp_context=fresh)

    def map(
        self, function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[Result]:
        """Call `function` with each of these; yield the results in the same order.

        Raises SourceError where a process was killed from outside.
        """
        if self._processes is None:
            yield from (function(*each) for each in arguments)
            return
        work = list(arguments)
        if not work:
            return
        try:
            at_once = max(1, min(_MOST_AT_ONCE, len(work) // (_SHARES * self._workers)))
            columns = zip(*work, strict=True)
            yield from self._processes.map(function, *columns, chunksize=at_once)
        except BrokenProcessPool as error:
            raise SourceError(
                "a process that shared the work was killed; if memory ran out, allow less"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._processes is not None:
            self._processes.shutdown(cancel_futures=True)
