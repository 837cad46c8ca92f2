"""The dates of documents: the main index of an archive, and others attached under a name."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager

from nwx.errors import UsageError
from nwx.model import MAIN_DATES, Dates, NamedDates

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")


def is_name(text: str) -> bool:
    """Tell whether a text can name a dates index beside the main one."""
    return text != MAIN_DATES and bool(_NAME.fullmatch(text))


def check_name(name: str) -> None:
    """Raise UsageError where a text cannot name a dates index beside the main one."""
    if not is_name(name):
        raise UsageError(
            f"{name[:80]!r} cannot name a dates index; use up to 63 lower-case letters, digits, "
            f"- and _, but not {MAIN_DATES!r}, which is the archive's own"
        )


class DatesBuilder(ABC):
    """A dates index while it is made."""

    @abstractmethod
    def append(self, dates: Sequence[Dates]) -> int:
        """Add dates; return how many (timestamp, collection) pairs were new."""


class DatesIndex(ABC):
    """All timestamps of documents, in one index or in several.

    What is asked about dates is asked of the main index and of all that are
    attached; a date that is in two of them counts once.
    """

    @abstractmethod
    def dates(self, ids: Sequence[str]) -> dict[str, Dates]:
        """Return the dates of these document ids that the engine holds, in all indices."""

    @abstractmethod
    def append_dates(self, dates: Sequence[Dates], into: str = MAIN_DATES) -> int:
        """Add to the dates known; return how many (timestamp, collection) pairs were new.

        `into` names the index, which is made and attached where there is
        none of that name. Two writers at once lose nothing.
        """

    @abstractmethod
    def dates_indices(self) -> list[NamedDates]:
        """Return the dates indices: the main one, then the others by name, attached or not."""

    @abstractmethod
    def attach_dates(self, name: str, address: str = "") -> None:
        """Join a dates index from now on; "" is the one that the archive has of that name.

        Raises EngineError where there is none, or the name is another's.
        """

    @abstractmethod
    def detach_dates(self, name: str) -> None:
        """Leave a dates index out from now on, and keep what it holds.

        Raises EngineError where none of that name is attached.
        """

    @abstractmethod
    def drop_dates(self, name: str) -> None:
        """Detach and delete a dates index that the archive made.

        Raises EngineError where there is none, or it is another's.
        """

    @abstractmethod
    def scan_dates(self, place: str) -> Iterator[Dates]:
        """Stream the dates of one index, by name or address, in the order of their ids."""

    @abstractmethod
    def build_dates(self, place: str) -> AbstractContextManager[DatesBuilder]:
        """Give what builds a dates index anew, by name or address; a new name is the archive's.

        It takes the place of one that is there, whole, when the context
        ends; when that fails, nothing has changed.
        """
