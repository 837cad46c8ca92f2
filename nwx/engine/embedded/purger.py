"""What takes entries out of a folder for good."""

from collections.abc import Callable, Collection, Iterator, Sequence

from nwx.engine.access.purger import Purger
from nwx.engine.crawls.crawl_index import StoredSpecification
from nwx.engine.embedded.database import Opening, erased
from nwx.engine.embedded.dates.indices import EmbeddedDatesIndices
from nwx.engine.embedded.separate_indices import SeparateIndices
from nwx.engine.embedded.writer import ArchiveWriter
from nwx.model import MAIN_DATES, Dates, IndexName


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

    def remove_scores(self, document_ids: Collection[str], urls: Collection[str]) -> int:
        return self._separate.crawl_index().remove_documents(document_ids, urls)

    def forget_pages(self, urls: Collection[str]) -> int:
        forgotten = self._separate.crawl_queue().forget_pages(urls)
        return forgotten + self._separate.outbox().forget_pages(urls)

    def replace_specification(self, stored: StoredSpecification) -> None:
        self._separate.crawl_index().replace_specification(stored)

    def erase(self, wait_seconds: float) -> tuple[str, ...]:
        return tuple(self._left(wait_seconds))

    def _left(self, wait_seconds: float) -> Iterator[str]:
        if not self._writing().erase(wait_seconds):
            yield "archive.sqlite"
        for name in self._dates.made():
            if not self._dates.erase(name, wait_seconds):
                yield f"dates/{name}"
        for file, opening in self._files():
            if not erased(opening, wait_seconds):
                yield file

    def _files(self) -> Iterator[tuple[str, Opening]]:
        yield "access.db", self._separate.entry_store(IndexName.ACCESS).database.erasing
        yield "crawls.db", self._separate.crawl_index().erasing
        yield "pictures.db", self._separate.picture_index().erasing
        yield "quality.db", self._separate.entry_store(IndexName.QUALITY).database.erasing
        yield "queue.db", self._separate.crawl_queue().erasing
