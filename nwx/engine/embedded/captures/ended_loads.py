"""Large loads of captures, closed while whoever loaded them goes on."""

import threading
from typing import Protocol


class EndingLoad(Protocol):
    """A load that has stored all it has to store."""

    def unlock(self) -> bool:
        """Let others write; return whether closing takes a while."""

    def close(self) -> None:
        """Bring the log into the database."""


class EndedLoads:
    """The loads of an archive whose logs are being brought into its database, by threads.

    Whoever loads waits for those before: a log that many loads are written to
    one after the other, while it is read, would never begin anew.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []

    def end(self, load: EndingLoad) -> None:
        """Unlock an archive at once, and close what has loaded into it, by a thread if need be."""
        if not load.unlock():
            load.close()
            return
        thread = threading.Thread(target=load.close, name="ended-load")
        with self._guard:
            self._threads.append(thread)
        thread.start()

    def wait(self) -> None:
        """Wait until all are closed."""
        with self._guard:
            threads, self._threads = self._threads, []
        for thread in threads:
            thread.join()
