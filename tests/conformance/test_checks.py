"""`nwx check` finds no fault in an archive after normal use."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import UrlUpdate
from nwx.keys import capture_id
from nwx.maintenance.agreement import OLDER_FORM, UNCHECKED, check
from nwx.model import Batch, IndexName
from tests.conformance.archive import also, batch, capture, page
from tests.conformance.engines import ENGINES, Opener
from tests.conformance.test_takedown import fill, planted, purge

ABOVE_ENGINES = True

PAGES = [page(f"http://example.org/{n}", f"{2010 + n}", f"text {n}") for n in range(12)]
LOADED = [capture(f"http://loaded.example/{n}", "2015", offset=n * 9) for n in range(9)]


def wrong(engine: Engine) -> list[object]:
    return [one for one in check(engine) if one.kind != UNCHECKED]


def _purged(engine: Engine, reopen: Opener) -> None:
    fill(engine, reopen)
    purge(engine, reopen, planted().capture.url)


def _purged_file(engine: Engine, reopen: Opener) -> None:
    engine.write(batch(PAGES))
    purge(engine, reopen, "a.warc.gz")
    engine.write(batch(PAGES[3:5]))


def _deleted(engine: Engine, reopen: Opener) -> None:
    engine.write(batch(PAGES, [also(PAGES[0], "2020")]))
    gone = [one.capture for one in PAGES[:3]]
    captures = [capture_id(one.collection, one.source_file, one.source_file_offset) for one in gone]
    engine.delete(IndexName.CAPTURES, captures)
    engine.delete(IndexName.DOCUMENTS, [one.document_id for one in gone])
    engine.delete(IndexName.DATES, [one.document_id for one in gone])


def _loaded(engine: Engine, reopen: Opener) -> None:
    engine.write(batch(PAGES))
    engine.refresh()
    engine.close()
    with reopen() as later:
        later.load_captures([LOADED[:6]])
        known = [(one.collection, one.source_file, one.source_file_offset) for one in LOADED[2:4]]
        later.unload_captures([capture_id(*one) for one in known])
        later.load_captures([LOADED])


def _dated(engine: Engine, reopen: Opener) -> None:
    engine.write(batch(PAGES))
    engine.append_dates([also(PAGES[0], "2020", "2021"), also(PAGES[1], "2020")])
    engine.append_dates([also(PAGES[0], "2021"), also(PAGES[2], "2020")])
    engine.append_dates([also(PAGES[0], "2022")], into="further")
    engine.append_dates([also(PAGES[3], "2022")], into="further")


def _replaced(engine: Engine, reopen: Opener) -> None:
    engine.write(batch(PAGES[:1]))
    engine.refresh()
    earlier = page(PAGES[0].capture.url, "2001", "text 0")
    engine.append_dates([also(PAGES[1], "2020")])
    engine.write(batch([earlier, *PAGES]))
    engine.write(batch(PAGES))
    engine.write(Batch(amended=(PAGES[4],)))


def _merged(engine: Engine, reopen: Opener) -> None:
    for one in PAGES:
        engine.write(batch([one]))
        engine.refresh()
    engine.delete(IndexName.DOCUMENTS, [])


def _queued(engine: Engine, reopen: Opener) -> None:
    queue = engine.crawl_queue()
    queue.put([UrlUpdate(f"http://example.net/{n}", n / 9, via="x") for n in range(9)])
    queue.lease(3)
    queue.put([UrlUpdate("http://example.net/4", None)])
    crawls = engine.crawl_index()
    for version in ("v1", "v2"):
        saved = crawls.save_specification("votes", version, 'name = "votes"\n')
        crawls.save_specification("news", version, 'name = "news"\n')
    crawls.remove_specification("news")
    crawls.replace_specification(replace(saved, text='name = "votes"'))


USES: dict[str, Callable[[Engine, Opener], None]] = {
    one.__name__.strip("_"): one
    for one in (
        *(_purged, _purged_file, _deleted, _loaded),
        *(_dated, _replaced, _merged, _queued),
    )
}


@pytest.mark.parametrize("use", USES)
def test_an_archive_that_was_used_is_whole(engine: Engine, open_archive: Opener, use: str) -> None:
    engine.create()
    USES[use](engine, open_archive)
    engine.close()
    with open_archive() as later:
        later.refresh()
        assert wrong(later) == []


def test_an_older_archive_is_not_taken_for_damaged(
    kind: str, engine: Engine, open_archive: Opener
) -> None:
    engine.create()
    engine.write(batch(PAGES, [also(PAGES[0], "2020")]))
    engine.close()
    ENGINES[kind].make_older(engine)
    with open_archive() as reader:
        reader.refresh()
        assert {one.kind for one in wrong(reader)} <= {OLDER_FORM}
    with open_archive() as writer:
        writer.write(batch([page("http://example.org/new", "2020", "new")]))
        writer.append_dates([also(PAGES[1], "2021")])
        writer.delete(IndexName.DATES, [PAGES[0].capture.document_id])
        writer.write(batch(PAGES[:1], [also(PAGES[0], "2020")]))
        writer.refresh()
        assert {one.kind for one in wrong(writer)} <= {OLDER_FORM}
