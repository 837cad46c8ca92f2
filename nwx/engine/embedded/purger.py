"""What takes entries out of a folder for good."""

from collections.abc import Callable, Iterator, Sequence

from nwx.engine.access.purger import Purger
from nwx.engine.embedded.database import erased
from nwx.engine.embedded.dates.indices import EmbeddedDatesIndices
from nwx.engine.embedded.separate_indices import SeparateIndices
from nwx.engine.embedded.writer import ArchiveWriter
from nwx.engine.indices.declarations import IndexKind, indices_of
from nwx.model import MAIN_DATES, Dates


class EmbeddedPurger(Purger):
    """Purges the archive in a folder; `writing` gives its one writer."""

    def __init__(
        self,
        writing: Callable[[], ArchiveWriter],
        dates: EmbeddedDatesIndices,
        separate: SeparateIndices,
    ) -> None:
        self._writing, self._dates, self._separate = writing, dates, separate

    def own_dates(self) -> list[str]:
        return self._dates.made()

    def remove_dates(self, place: str, dates: Sequence[Dates]) -> int:
        if place == MAIN_DATES:
            return self._writing().remove_dates(dates)
        return self._dates.remove(place, dates)

    def erase(self, wait_seconds: float) -> tuple[str, ...]:
        return tuple(self._left(wait_seconds))

    def _left(self, wait_seconds: float) -> Iterator[str]:
        if not self._writing().erase(wait_seconds):
            yield "archive.sqlite"
        for name in self._dates.made():
            if not self._dates.erase(name, wait_seconds):
                yield f"dates/{name}"
        for index in indices_of(IndexKind.ENTRIES):
            if not erased(self._separate.own(index).database.erasing, wait_seconds):
                yield f"{index}.db"
