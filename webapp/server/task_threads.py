"""Threads that do one task after the other."""

import threading
from collections.abc import Callable
from queue import SimpleQueue


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
        """Have a task done, which sees to its errors itself."""
        self._tasks.put(task)

    def end(self) -> None:
        """End the threads after the tasks that wait; nobody waits for them."""
        for _ in self._threads:
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()
