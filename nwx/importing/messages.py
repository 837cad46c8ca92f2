"""Messages between the importing process and its workers."""

import time
from collections.abc import Callable, Mapping
from dataclasses import field, fields, replace
from enum import Enum, StrEnum, auto
from multiprocessing.reduction import ForkingPickler
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from nwx.bulk.process_limits import return_free_memory
from nwx.bulk.progress import retry_unavailable
from nwx.captures import PagePlace
from nwx.data_classes import dataclass
from nwx.engine.base import StagedBatch, Staging
from nwx.errors import NwxError
from nwx.model import Batch, Capture, Extract, Link, ReadError, SourceFile
from nwx.warc.sources import ArchiveSource

if TYPE_CHECKING:
    from nwx.importing.late_outlinks import LateOutlinks


class Outcome(StrEnum):
    """The outcome of a file."""

    IMPORTED = "imported"  # to its end
    SKIPPED = "skipped"  # already in the archive
    REFUSED = "refused"  # another file of the same name is in the archive
    UNREADABLE = "unreadable"  # it cannot be opened, or has no readable record
    BY_OTHERS = "by others"  # another importer has imported or abandoned it
    PARTIAL = "partial"  # read in part; the next import continues


@dataclass(frozen=True, slots=True)
class FileTask:
    """A file to import.

    `entry` is its ledger entry. `without_text` maps the offsets of records that must not be
    extracted to the reason, as text. `path` is the user's path of the file. Parts are `staged`
    unless the parent has to examine their documents, and delivered `at_once` if the file has killed
    a worker. With `with_pages`, the places of new pages are reported.
    """

    source: ArchiveSource
    path: str
    entry: SourceFile | None
    without_text: Mapping[int, str] = field(default_factory=dict)
    staged: bool = True
    with_pages: bool = False
    at_once: bool = False
    number: int = 0


@dataclass(frozen=True, slots=True)
class FilePart:
    """A part of a file, ready to be written, and its counts for the report.

    `renders` counts the captures that are renders of pages, `purged` the captures that access rules
    keep out. `pages` are the new pages of the batch, if their places were requested. `late` are
    outlinks of documents in earlier parts; a part with late outlinks is not staged. `digests` pairs
    each additional digest with the capture's. `joins` are keys whose dates may belong to a document
    with another digest.
    """

    batch: Batch
    errors: tuple[ReadError, ...]
    records: Mapping[str, int]
    captures: int
    candidates: int
    excluded: int
    bytes: int
    pages: tuple[PagePlace, ...] = ()
    late: "tuple[LateOutlinks, ...]" = ()
    renders: int = 0
    purged: int = 0
    digests: tuple[tuple[str, str], ...] = ()
    joins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a file, sent after its last part."""

    outcome: Outcome
    errors: tuple[ReadError, ...] = ()


@dataclass(frozen=True, slots=True)
class Delivery:
    """Parts and verdicts of files, in order, each with the number of its task.

    `staged` is the data of all parts; with it, their batches have only the ledger entries.
    """

    messages: tuple[tuple[int, FilePart | Verdict], ...]
    staged: StagedBatch | None = None


class PipeRequest(Enum):
    """Requests between a worker and its parent."""

    TASK = auto()
    """The worker has read its file, and may hold its results until a DELIVERY request."""
    DELIVERY = auto()


Message = Delivery | PipeRequest | NwxError
"""A message of a worker; an error is the reason why it cannot work."""


def _reduced(extract: Extract) -> tuple[Callable[..., Extract], tuple[Any, ...]]:
    columns = tuple(zip(*extract.links, strict=True)) or _NO_LINKS
    return _extract, (*_extract_values(extract), *columns)


def _extract(*values: Any) -> Extract:
    *others, urls, texts, kinds = values
    fields = dict(zip(_EXTRACT_FIELDS, others, strict=True))
    return Extract(**fields, links=tuple(map(Link, urls, texts, kinds)))


# Pages have hundreds of links, and pickling them one by one is slow:
# as columns of strings they take a tenth of the time.
_EXTRACT_FIELDS = tuple(field.name for field in fields(Extract) if field.name != "links")
_extract_values = attrgetter(*_EXTRACT_FIELDS)
_NO_LINKS: tuple[tuple[str, ...], ...] = ((), (), ())
_CAPTURE_FIELDS = Capture._fields
_capture_values = attrgetter(*_CAPTURE_FIELDS)
ForkingPickler.register(Extract, _reduced)
ForkingPickler.register(Capture, lambda capture: (Capture, _capture_values(capture)))


MOST_UNDELIVERED = 1_500
"""The maximum number of captures, errors and files that a worker holds."""

UNDELIVERED_SECONDS = 10.0
"""The longest time that a worker holds a result."""


class Outbox:
    """Collects the parts and verdicts of files, so that their texts make one index segment.

    Small files are delivered together, and large ones in pieces: on request, or once the collected
    data is large or old. Parts that are not staged, such as those with late outlinks, are sent at
    once.
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
        """Add a part or verdict of a file."""
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
        """Send the collected parts and verdicts."""
        if not self._messages:
            return
        messages = tuple(self._messages)
        written = any(isinstance(message, FilePart) for _, message in messages)
        self._send(Delivery(messages, self._staging.finish() if written else None))
        self._clear()
        return_free_memory()  # some 20 MB a segment
