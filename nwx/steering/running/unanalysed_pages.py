"""The pages that an archive holds and that were not analysed at a version of a specification."""

from collections.abc import Callable, Iterator

from nwx.engine.base import Engine
from nwx.engine.file_places import FilePlaces
from nwx.page_places import PagePlace, page_places
from nwx.steering.running.page_reader import PageTask, stored_source
from nwx.steering.specifications.specification import CrawlSpecification

_BATCH_PAGES, _BATCH_CAPTURES = 1_000, 10_000
_LAST_KEY = "\U0010ffff"

_Seen = Callable[[int, int], object]


class PageSweeps:
    """Goes through an archive as often as it is asked to; asked on the way, once more afterwards.

    What came on the way may lie behind. `begin` gives the pages from the start on.
    """

    def __init__(self, begin: Callable[[], Iterator[list[PageTask]]]) -> None:
        self._begin = begin
        self._pages: Iterator[list[PageTask]] | None = None
        self._is_asked = False

    def ask(self) -> None:
        """Have the archive gone through from now on."""
        self._is_asked = True

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to look at."""
        return self._pages is None and not self._is_asked

    def next_pages(self) -> list[PageTask]:
        """Return the next pages, which may be none."""
        if self._pages is None:
            if not self._is_asked:
                return []
            self._is_asked, self._pages = False, self._begin()
        found = next(self._pages, None)
        if found is None:
            self._pages = None
        return found or []


def unanalysed_pages(
    engine: Engine,
    specification: CrawlSpecification,
    version: str,
    seen: _Seen = lambda pages, captures: None,
) -> Iterator[list[PageTask]]:
    """Yield the pages of an archive that have no scores of a version, up to a thousand at a time.

    They come in the order of urlkeys, those of a batch in the order of
    their places. `seen` is told how many pages were looked at for a batch,
    and how many captures, before the batch is given.
    """
    places = FilePlaces(engine)
    index = engine.crawl_index()
    start: str | None = ""
    while start is not None:
        batch, captures, start = _batch(engine, specification.collection, start)
        held = engine.known(batch)
        done = index.analysed(specification.name, version, held)
        missing = (batch[id] for id in held if id not in done)
        seen(len(batch), captures)
        yield sorted((_task(places, page) for page in missing), key=_place_in_file)


def _batch(
    engine: Engine, collection: str, start: str
) -> tuple[dict[str, PagePlace], int, str | None]:
    """Return pages from a urlkey on by the ids of their documents, and the next urlkey.

    Between the two is the number of captures that were looked at.

    All pages of a urlkey are in one batch; of several captures of a
    document the first counts. The archive is not read while these are
    analysed, which may take long.
    """
    found: dict[str, PagePlace] = {}
    last, count = start, 0
    for capture in engine.captures(start, _LAST_KEY):
        is_full = len(found) >= _BATCH_PAGES or count >= _BATCH_CAPTURES
        if is_full and capture.urlkey != last:
            return found, count, capture.urlkey
        last, count = capture.urlkey, count + 1
        if not collection or capture.collection == collection:
            for page in page_places([capture]):
                found.setdefault(page.document_id, page)
    return found, count, None


def _task(places: FilePlaces, page: PagePlace) -> PageTask:
    path = places.path(page.collection, page.source_file)
    return PageTask(page, stored_source(page, path) if path else None)


def _place_in_file(task: PageTask) -> tuple[str, str, int]:
    return task.place.collection, task.place.source_file, task.place.offset
