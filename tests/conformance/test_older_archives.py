"""Archives of older versions open and are upgraded; only newer ones are refused."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from nwx.engine.base import Engine
from nwx.engine.capabilities import Upgrade
from nwx.engine.entries import capture_entry
from nwx.errors import EngineError, EngineVersionError, UsageError
from nwx.maintenance.agreement import OLDER_FORM, check
from nwx.model import Batch, Capture, IndexName
from nwx.query.question import Question
from nwx.query.tree import All
from tests.conformance.archive import also, batch, capture, page
from tests.conformance.asking import ask
from tests.conformance.engines import ENGINES, Opener

ABOVE_ENGINES = ("test_an_older_archive_is_brought_forward_when_it_is_written_to",)

PAGES = [page(f"http://example.org/{n}", f"{2010 + n}", f"text {n}") for n in range(3)]
VIA = replace(capture("http://example.org/via", "2015", offset=7), via="http://example.org/0")


@pytest.fixture
def older(kind: str, open_archive: Opener) -> Opener:
    with open_archive() as engine:
        engine.create()
        engine.write(batch(PAGES))
        engine.refresh()
    ENGINES[kind].make_older(engine)
    return open_archive


STRANGE = [
    capture("http://example.org/" + "x" * 9_000, "2016", offset=8),
    capture("http://example.org/type", "2017", offset=9, content_type="t" * 300),
]


@pytest.fixture
def newer(kind: str, open_archive: Opener) -> Opener:
    with open_archive() as engine:
        engine.create()
        engine.write(batch(PAGES))
        engine.refresh()
    ENGINES[kind].make_newer(engine)
    return open_archive


def test_an_older_archive_is_searched(older: Opener) -> None:
    with older() as engine:
        assert ask(engine, All()) == {"0", "1", "2"}
        assert engine.count(IndexName.CAPTURES) == 3
        assert engine.count(IndexName.FACETS) == 0
        assert list(engine.scan(IndexName.FACETS)) == []
        assert engine.stats()[IndexName.FACETS].entries == 0
        assert [one.name for one in engine.dates_indices()] == ["main"]
        assert engine.crawl_index().specifications() == []
        assert engine.crawl_index().best_links("votes", 9) == []
        assert engine.stats()[IndexName.CRAWLS].entries == engine.count(IndexName.CRAWLS) == 0


def test_a_specification_is_saved_in_an_older_archive(older: Opener) -> None:
    with older() as engine:
        saved = engine.crawl_index().save_specification("votes", "v1", "text")
        engine.refresh()
        assert next(iter(engine.scan(IndexName.CRAWLS)))["crawl"] == "votes"
    with older() as engine:
        assert engine.crawl_index().specifications() == [saved]
        assert ask(engine, All()) == {"0", "1", "2"}


WRITES: dict[str, Callable[[Engine], object]] = {
    "create": lambda engine: engine.create(),
    "load": lambda engine: engine.load_captures([[VIA]]),
}


@pytest.mark.parametrize("how", WRITES)
def test_an_older_archive_is_brought_forward_when_it_is_written_to(older: Opener, how: str) -> None:
    with older() as engine:
        WRITES[how](engine)
        engine.refresh()
    with older() as engine:
        engine.create()
        engine.write(Batch(captures=(VIA,)))
        engine.append_dates([also(PAGES[0], "2020")], into="more")
        engine.refresh()
        assert ask(engine, All()) == {"0", "1", "2"}
        assert engine.count(IndexName.CAPTURES) == 4
        assert {one.via for one in engine.captures(VIA.urlkey)} == {VIA.via}
        assert [one.url for one in engine.captures_by_digest(VIA.digest)] == [VIA.url]
        found = engine.search(Question(All(), date_from="2020"))
        assert [hit.url for hit in found.hits] == [PAGES[0].capture.url]


def test_captures_of_an_older_archive_are_read_and_brought_forward(
    kind: str, open_archive: Opener
) -> None:
    with open_archive() as engine:
        engine.create()
        engine.write(batch(PAGES))
        engine.write(Batch(captures=tuple(STRANGE)))
        engine.refresh()
        stored = list(engine.scan(IndexName.CAPTURES))
    ENGINES[kind].make_older(engine)
    captures = [*STRANGE, PAGES[0].capture]
    with open_archive() as engine:
        assert list(engine.scan(IndexName.CAPTURES)) == stored
        _check_lookups(engine, captures)
        engine.load_captures([[VIA, *STRANGE]])
        _check_lookups(engine, [*captures, VIA])
        if not engine.traits.is_local:
            assert OLDER_FORM in {one.kind for one in check(engine)}
            assert engine.shards().reshard(IndexName.CAPTURES, 1) == "copied"
            assert OLDER_FORM not in {one.kind for one in check(engine)}
            with pytest.raises(UsageError, match="already has 1 shards"):
                engine.shards().reshard(IndexName.CAPTURES, 1)
            engine.create()
        _check_lookups(engine, [*captures, VIA])
        engine.unload_captures([capture_entry(VIA)["id"]])
        assert list(engine.scan(IndexName.CAPTURES)) == stored


def _check_lookups(engine: Engine, captures: Sequence[Capture]) -> None:
    for one in captures:
        assert list(engine.captures(one.urlkey)) == [one]
        assert list(engine.captures_by_digest(one.digest)) == [one]


def test_an_older_archive_is_upgraded(older: Opener) -> None:
    with older() as engine:
        done = engine.upgrade()
        assert done.formats or done.indices
    with older() as engine:
        assert engine.upgrade() == Upgrade()
        assert OLDER_FORM not in {one.kind for one in check(engine)}
        assert ask(engine, All()) == {"0", "1", "2"}
        assert engine.count(IndexName.CAPTURES) == 3


def test_what_is_no_archive_is_not_up_to_date(open_archive: Opener) -> None:
    with open_archive() as engine, pytest.raises(EngineError, match=r"no (such )?archive .* first"):
        engine.upgrade()


def test_dates_of_an_older_archive_are_added_to(older: Opener) -> None:
    with older() as engine:
        assert engine.append_dates([also(PAGES[0], "2020")]) == 1
        engine.append_dates([also(PAGES[1], "2021")], into="more")
        engine.refresh()
        assert [one.name for one in engine.dates_indices()] == ["main", "more"]
        found = engine.search(Question(All(), date_from="2020"))
        assert len(found.hits) == 2


def test_a_newer_archive_is_refused(newer: Opener) -> None:
    for use in (
        lambda engine: engine.create(),
        lambda engine: engine.search(Question(All())),
        lambda engine: list(engine.scroll(Question(All()))),
    ):
        with pytest.raises(EngineVersionError, match="newer version"), newer() as engine:
            use(engine)
