"""Threads that do one task after the other."""

import logging
import threading
from collections.abc import Callable
from queue import SimpleQueue

_logger = logging.getLogger("nwx.server")


class TaskThreads:
    """So many threads, which take tasks in the order they are submitted."""

    def __init__(self, number: int, name: str) -> None:
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._threads = [
            threading.Thread(target=self._work, name=f"{name}-{each}", daemon=True)
            for each in range(number)
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, task: Callable[[], None]) -> None:
        """Have a task done; an error that it raises is logged, and the thread goes on."""
        self._tasks.put(task)

    def end(self) -> None:
        """End the threads after the tasks that wait; nobody waits for them."""
        for _ in self._threads:
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            try:
                task()
            except Exception:
                _logger.exception("a task of %s failed", threading.current_thread().name)
