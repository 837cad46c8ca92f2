"""What a worker has read and not delivered yet."""

import time
from collections.abc import Callable
from dataclasses import replace

from nwx.bulk.retries import retry_unavailable
from nwx.engine.base import Staging
from nwx.importing.messages import Delivery, FilePart, FileTask, Verdict
from nwx.model import Batch

MOST_UNDELIVERED = 1_500
"""So many captures, errors and files at most are held back."""

UNDELIVERED_SECONDS = 10.0
"""For so long at most anything is held back."""


class Outbox:
    """What collects the parts and verdicts of files, so that one segment is made of their texts.

    Small files are delivered together, and large ones in pieces: when it
    is asked to, or the collection is large or old. What is not staged, as
    parts with late outlinks, goes at once.
    """

    def __init__(
        self, send: Callable[[Delivery], None], staging: Staging, patience_seconds: float
    ) -> None:
        self._send, self._staging, self._patience = send, staging, patience_seconds
        self._clear()

    def _clear(self) -> None:
        self._messages: list[tuple[int, FilePart | Verdict]] = []
        self._held = 0
        self._until = time.monotonic() + UNDELIVERED_SECONDS

    def add(self, task: FileTask, message: FilePart | Verdict) -> None:
        """Take what became of a file."""
        if not task.staged or (isinstance(message, FilePart) and message.late):
            self.deliver()
            self._send(Delivery(((task.number, message),)))
            return
        if isinstance(message, FilePart):
            batch = message.batch
            retry_unavailable(lambda: self._staging.add(batch), self._patience)
            self._held += message.captures + message.excluded + len(message.errors)
            message = replace(message, batch=Batch(files=batch.files))
        if not self._messages:
            self._until = time.monotonic() + UNDELIVERED_SECONDS
        self._messages.append((task.number, message))
        self._held += 1
        if task.at_once or self._is_full:
            self.deliver()

    @property
    def _is_full(self) -> bool:
        return (
            self._staging.is_full
            or self._held >= MOST_UNDELIVERED
            or time.monotonic() >= self._until
        )

    def deliver(self) -> None:
        """Send what there is."""
        if not self._messages:
            return
        messages = tuple(self._messages)
        written = any(isinstance(message, FilePart) for _, message in messages)
        self._send(Delivery(messages, self._staging.finish() if written else None))
        self._clear()
