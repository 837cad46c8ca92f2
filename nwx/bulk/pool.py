"""A pool of worker processes, or this process if there is little work."""

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, contextmanager
from typing import Any, TypeVar

from nwx.bulk.child_processes import children_without_interrupts, fork_server
from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.errors import SourceError

_MOST_AT_ONCE = 16
_SHARES = 8
_KILLED = "a worker process was killed; if memory ran out, use fewer processes"

TaskResult = TypeVar("TaskResult")


class Pool(AbstractContextManager["Pool"]):
    """A pool of worker processes; with one worker, the work is done in this process.

    The modules in `preload` are loaded once, by a process from which the workers are forked, for
    work that is short compared with loading them.
    """

    def __init__(self, workers: int, preload: Sequence[str] = ()) -> None:
        self._processes: ProcessPoolExecutor | None = None
        self._workers = workers
        if workers > 1:
            spawn = multiprocessing.get_context("spawn")
            fresh = fork_server("__main__", *preload) if preload else spawn
            self._processes = ProcessPoolExecutor(workers, fresh, _end_with_parent)

    def map(
        self, function: Callable[..., TaskResult], arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[TaskResult]:
        """Call `function` with each argument tuple; yield the results in the same order.

        Raises SourceError if a worker was killed.
        """
        if self._processes is None:
            yield from (function(*each) for each in arguments)
            return
        work = list(arguments)
        if not work:
            return
        at_once = max(1, min(_MOST_AT_ONCE, len(work) // (_SHARES * self._workers)))
        columns = zip(*work, strict=True)
        try:
            with children_without_interrupts(), hidden_main_module():
                results = self._processes.map(function, *columns, chunksize=at_once)
        except (BrokenProcessPool, EOFError, ConnectionError) as error:  # the last two: fork server
            raise SourceError(_KILLED) from error
        try:
            yield from results
        except BrokenProcessPool as error:
            raise SourceError(_KILLED) from error

    def map_shown(
        self,
        function: Callable[..., TaskResult],
        arguments: Sequence[tuple[Any, ...]],
        progress: ShowProgress,
        step: str,
        sizes: Sequence[int] | None = None,
    ) -> Iterator[TaskResult]:
        """Yield the results of `map` and report progress; `sizes` are the sizes of the calls."""
        sizes = sizes or [1] * len(arguments)
        done, total = 0, sum(sizes)
        for size, result in zip(sizes, self.map(function, arguments), strict=True):
            yield result
            done += size
            progress(WorkProgress(step, done, total))

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._processes is None:
            return
        if kind is KeyboardInterrupt:
            # A second one while they are waited for would leave them waiting for ever.
            for process in list(self._processes._processes.values()):
                process.terminate()
        self._processes.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """End this process when its parent is killed, as the queue it reads never ends then."""
    parent = multiprocessing.parent_process()

    def wait() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def hidden_main_module() -> Iterator[None]:
    """Start child processes within this context without running the main script in them.

    `multiprocessing` runs it again in each child, which does not need it: a script without `if
    __name__ == "__main__":` would repeat all of its work there.
    """
    main = sys.modules["__main__"]
    hidden = {name: getattr(main, name, None) for name in ("__file__", "__spec__")}
    main.__file__ = main.__spec__ = None
    try:
        yield
    finally:
        for name, value in hidden.items():
            setattr(main, name, value)
