"""The pages that an archive holds and that were not analysed at a version of a specification."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from nwx.engine.base import Engine
from nwx.engine.file_places import FilePlaces
from nwx.page_places import PagePlace, page_places
from nwx.steering.running.page_reader import PageTask, stored_source
from nwx.steering.specifications.specification import CrawlSpecification

_BATCH_PAGES = 1_000
_LAST_KEY = "\U0010ffff"

_Seen = Callable[[int], object]


def unanalysed_pages(
    engine: Engine,
    specification: CrawlSpecification,
    version: str,
    seen: _Seen = lambda count: None,
) -> Iterator[list[PageTask]]:
    """Yield the pages of an archive that have no scores of a version, some hundreds at a time.

    They come in the order of urlkeys, those of a batch in the order of
    their places. `seen` is told of so many pages looked at.
    """
    places = FilePlaces(engine)
    index = engine.crawl_index()
    for batch in _batches(_pages(engine, specification.collection)):
        held = engine.known(batch)
        done = index.analysed(specification.name, version, held)
        yield sorted(
            (_task(places, batch[id]) for id in held if id not in done), key=_place_in_file
        )
        seen(len(batch))


def _pages(engine: Engine, collection: str) -> Iterator[PagePlace]:
    captures = engine.captures("", _LAST_KEY)
    wanted = (one for one in captures if not collection or one.collection == collection)
    return page_places(wanted)


def _batches(pages: Iterable[PagePlace]) -> Iterator[dict[str, PagePlace]]:
    """Yield pages by the ids of their documents; of several captures of one the first counts."""
    rest = iter(pages)
    while some := list(islice(rest, _BATCH_PAGES)):
        yield {page.document_id: page for page in reversed(some)}


def _task(places: FilePlaces, page: PagePlace) -> PageTask:
    path = places.path(page.collection, page.source_file)
    return PageTask(page, stored_source(page, path) if path else None)


def _place_in_file(task: PageTask) -> tuple[str, str, int]:
    return task.place.collection, task.place.source_file, task.place.offset
