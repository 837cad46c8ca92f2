"""The pages that an archive holds and that were not analysed at a version of a specification."""

from collections.abc import Callable, Iterator

from nwx.engine.base import Engine
from nwx.engine.file_places import FilePlaces
from nwx.page_places import PagePlace, page_places
from nwx.steering.running.page_reader import PageTask, stored_source
from nwx.steering.specifications.specification import CrawlSpecification

_BATCH_PAGES, _BATCH_CAPTURES = 1_000, 10_000
_LAST_KEY = "\U0010ffff"

_Seen = Callable[[int], object]


def unanalysed_pages(
    engine: Engine,
    specification: CrawlSpecification,
    version: str,
    seen: _Seen = lambda count: None,
) -> Iterator[list[PageTask]]:
    """Yield the pages of an archive that have no scores of a version, up to a thousand at a time.

    They come in the order of urlkeys, those of a batch in the order of
    their places. `seen` is told of so many pages looked at.
    """
    places = FilePlaces(engine)
    index = engine.crawl_index()
    start: str | None = ""
    while start is not None:
        batch, start = _batch(engine, specification.collection, start)
        held = engine.known(batch)
        done = index.analysed(specification.name, version, held)
        missing = (batch[id] for id in held if id not in done)
        yield sorted((_task(places, page) for page in missing), key=_place_in_file)
        seen(len(batch))


def _batch(engine: Engine, collection: str, start: str) -> tuple[dict[str, PagePlace], str | None]:
    """Return pages from a urlkey on by the ids of their documents, and the next urlkey.

    All pages of a urlkey are in one batch; of several captures of a
    document the first counts. The archive is not read while these are
    analysed, which may take long.
    """
    found: dict[str, PagePlace] = {}
    last = start
    for count, capture in enumerate(engine.captures(start, _LAST_KEY)):
        is_full = len(found) >= _BATCH_PAGES or count >= _BATCH_CAPTURES
        if is_full and capture.urlkey != last:
            return found, capture.urlkey
        last = capture.urlkey
        if not collection or capture.collection == collection:
            for page in page_places([capture]):
                found.setdefault(page.document_id, page)
    return found, None


def _task(places: FilePlaces, page: PagePlace) -> PageTask:
    path = places.path(page.collection, page.source_file)
    return PageTask(page, stored_source(page, path) if path else None)


def _place_in_file(task: PageTask) -> tuple[str, str, int]:
    return task.place.collection, task.place.source_file, task.place.offset
