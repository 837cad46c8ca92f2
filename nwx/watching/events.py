"""Events and the final report of a watch."""

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum

from nwx.model import ReadError


class EventKind(StrEnum):
    """The kind of an event."""

    LOADED = "loaded"  # a file is in the archive now
    KNOWN = "known"  # a file was in the archive already
    FAILED = "failed"  # a file that cannot be loaded, or a folder that cannot be read
    NOT_MOVED = "not-moved"  # a file that is in the archive but cannot be moved
    WAITING = "waiting"  # the archive cannot be written at the moment
    BACK = "back"  # the archive can be written again


@dataclass(frozen=True, slots=True)
class Event:
    """An event about a file or the archive.

    `path` is where the file was found, `moved_to` its new path if it was moved. `captures` counts
    the file's captures, `errors_total` its errors; `errors` has the first ones.
    """

    kind: EventKind
    path: str = ""
    message: str = ""
    bytes: int = 0
    captures: int = 0
    errors_total: int = 0
    errors: tuple[ReadError, ...] = ()
    moved_to: str = ""
    retry_seconds: float = 0.0


@dataclass(slots=True)
class WatchReport:
    """The number of files by outcome."""

    outcomes: Counter[str] = field(default_factory=Counter)

    @property
    def failed(self) -> bool:
        """Whether any file could not be loaded or moved."""
        return bool(self.outcomes[EventKind.FAILED] or self.outcomes[EventKind.NOT_MOVED])
