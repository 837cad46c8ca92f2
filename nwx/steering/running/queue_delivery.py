"""Updates brought to a crawler's queue beside the analysis."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Self

from nwx.engine.base import Engine
from nwx.errors import EngineBusyError, EngineUnavailableError, NwxError
from nwx.steering.queue.delivery import deliver_updates

_COUNT_SECONDS = 1.0
_LOOK_SECONDS = 0.1
_IDLE_SECONDS = 5.0
"""How long is waited in the end for a queue that takes nothing."""


class QueueDelivery:
    """A thread that brings what is in the outbox to the queue at an address.

    The archive's own queue, "", needs none: it takes updates at once.
    """

    def __init__(self, engine: Engine, queue: str, token: str) -> None:
        self._engine, self._queue, self._token = engine, queue, token
        self._stopping = threading.Event()
        self._counted = 0.0
        self._undelivered = 0
        self._thread = threading.Thread(target=self._deliver) if queue else None
        self.problem = ""
        """Why the queue took nothing when it was last tried, "" where all is well."""

    def undelivered(self) -> int:
        """Return how many updates the queue has not taken yet, as far as it is known.

        They are counted every second, unless the engine is away or busy.
        """
        if self._thread is not None and time.monotonic() - self._counted >= _COUNT_SECONDS:
            with suppress(EngineUnavailableError, EngineBusyError):
                self._undelivered = self._engine.outbox().queues().get(self._queue, 0)
            self._counted = time.monotonic()
        return self._undelivered

    def finish(self, stopping: Callable[[], bool]) -> None:
        """Wait until everything is delivered, but not long for a queue that takes nothing."""
        last, since = self.undelivered(), time.monotonic()
        while last and self._is_running and not stopping():
            time.sleep(_LOOK_SECONDS)
            left = self.undelivered()
            if left != last:
                last, since = left, time.monotonic()
            if time.monotonic() - since > _IDLE_SECONDS:
                return

    @property
    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _deliver(self) -> None:
        try:
            deliver_updates(
                self._engine.outbox(), self._queue, self._token, self._stopping, tell=self._note
            )
        except NwxError as error:
            self._note(error)

    def _note(self, error: NwxError) -> None:
        self.problem = str(error)

    def __enter__(self) -> Self:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._counted = 0.0
