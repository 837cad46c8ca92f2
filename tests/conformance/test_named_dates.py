"""Dates in several indices: attached ones are joined, detached ones are not, each date once."""

from collections.abc import Sequence

import pytest

from nwx.engine.base import Engine
from nwx.engine.entries import dates_entry
from nwx.errors import EngineError, UsageError
from nwx.keys import document_id, document_key
from nwx.model import MAIN_DATES, Dates, IndexName, NamedDates, Sort
from nwx.query.tree import All, DateRange, Term
from tests.conformance.archive import also, batch, full, page
from tests.conformance.asking import ask, facet, names, search
from tests.conformance.engines import Opener

ABOVE_ENGINES = (
    "test_dates_may_come_before_anything_else",
    "test_a_date_in_two_indices_counts_once",
    "test_orders_look_at_all_indices",
    "test_what_is_detached_is_kept_and_can_be_attached_again",
    "test_names_are_plain",
    "test_others_see_what_is_attached",
    "test_an_index_of_another_archive_is_attached",
)

DATES_OF_ENTRY = 1

ONE = page("http://example.org/one", "2010", "first")
TWO = page("http://example.org/two", "2012", "second")
THREE = page("http://example.org/three", "2011", "third", collection="art")
PAGES = [ONE, TWO, THREE]
ORPHAN = Dates("http://gone.example/ sha1:X", ((full("2001"), "web"),))


def fill(engine: Engine) -> None:
    """Add three pages to an archive, and an additional date to its main index."""
    engine.create()
    engine.write(batch(PAGES, [also(TWO, "2013")]))
    engine.refresh()


def years_of(engine: Engine, shown: object = ONE) -> list[str]:
    id = shown.capture.document_id  # type: ignore[attr-defined]
    return [timestamp[:4] for timestamp, _ in engine.dates([id])[id].seen]


def listed(engine: Engine) -> dict[str, tuple[bool, int | None, int | None]]:
    return {one.name: (one.attached, one.entries, one.dates) for one in engine.dates_indices()}


def test_an_archive_has_one_index_of_dates(engine: Engine) -> None:
    fill(engine)
    assert listed(engine) == {MAIN_DATES: (True, 3, 4)}


def test_an_index_is_made_and_joined_when_it_is_first_added_to(engine: Engine) -> None:
    fill(engine)
    assert engine.append_dates([also(ONE, "2015", "2010"), ORPHAN], into="crawl2") == 3
    assert engine.append_dates([also(ONE, "2015")], into="crawl2") == 0
    engine.refresh()
    assert listed(engine) == {MAIN_DATES: (True, 3, 4), "crawl2": (True, 2, 3)}
    assert years_of(engine) == ["2010", "2015"]
    assert engine.count(IndexName.DATES) == 3
    assert ask(engine, DateRange(full("2015"), full("2016"))) == {"one"}


@pytest.mark.parametrize("into", [MAIN_DATES, "crawl2"])
def test_dates_may_come_before_anything_else(open_archive: Opener, into: str) -> None:
    with open_archive() as engine:
        assert engine.append_dates([also(ONE, "2015")], into=into) == 1
        fill(engine)
        assert years_of(engine) == ["2010", "2015"]


def test_a_date_in_two_indices_counts_once(engine: Engine) -> None:
    fill(engine)
    for name in ("a", "b"):
        engine.append_dates([also(ONE, "2010", "2014", "2014 art"), also(TWO, "2014")], into=name)
    engine.refresh()
    found = search(engine, All(), facets=("year", "collection"))
    assert facet(found, "year") == [("2010", 1), ("2011", 1), ("2012", 1), ("2013", 1), ("2014", 2)]
    assert facet(found, "collection") == [("art", 2), ("web", 2)]
    hits = {hit.url.rpartition("/")[2]: hit for hit in found.hits}
    assert hits["one"].dates == (full("2010"), full("2014"))
    assert hits["one"].collections == ("art", "web")
    assert years_of(engine) == ["2010", "2014", "2014"]


def test_a_condition_is_met_by_one_capture_of_any_index(engine: Engine) -> None:
    fill(engine)
    engine.append_dates([also(ONE, "2014 art")], into="a")
    engine.append_dates([also(ONE, "2015 web")], into="b")
    engine.refresh()
    of_2014 = {"date_from": full("2014"), "date_to": "20141231235959"}
    assert ask(engine, All(), filters={"collection": ("art",)}, **of_2014) == {"one"}
    assert ask(engine, All(), filters={"collection": ("web",)}, **of_2014) == set()
    assert ask(engine, All(), filters={"collection": ("web",), "year": ("2015",)}) == {"one"}
    assert ask(engine, All(), filters={"collection": ("art",)}) == {"one", "three"}
    assert ask(engine, Term("content", "first"), **of_2014) == {"one"}


def test_orders_look_at_all_indices(engine: Engine) -> None:
    fill(engine)
    engine.append_dates([also(ONE, "2009"), also(THREE, "2020")], into="a")
    engine.append_dates([also(TWO, "2008", "2021"), also(THREE, "2005")], into="b")
    engine.refresh()
    assert names(search(engine, All(), sort=Sort.OLDEST)) == ["three", "two", "one"]
    assert names(search(engine, All(), sort=Sort.NEWEST)) == ["two", "three", "one"]
    engine.detach_dates("b")
    assert names(search(engine, All(), sort=Sort.OLDEST)) == ["one", "three", "two"]
    assert names(search(engine, All(), sort=Sort.NEWEST)) == ["three", "two", "one"]


def test_what_is_detached_is_kept_and_can_be_attached_again(engine: Engine) -> None:
    fill(engine)
    engine.append_dates([also(ONE, "2015")], into="crawl2")
    engine.refresh()
    engine.detach_dates("crawl2")
    assert years_of(engine) == ["2010"]
    assert ask(engine, DateRange(full("2015"), full("2016"))) == set()
    assert engine.append_dates([also(ONE, "2016")], into="crawl2") == 1
    assert years_of(engine) == ["2010"]
    engine.refresh()
    assert listed(engine)["crawl2"][0] is False
    engine.attach_dates("crawl2")
    engine.attach_dates("crawl2")
    engine.refresh()
    assert years_of(engine) == ["2010", "2015", "2016"]
    assert listed(engine)["crawl2"] == (True, 1, 2)
    assert ask(engine, DateRange(full("2016"), full("2017"))) == {"one"}


def test_what_is_dropped_is_gone(engine: Engine) -> None:
    fill(engine)
    engine.append_dates([also(ONE, "2015")], into="crawl2")
    engine.drop_dates("crawl2")
    assert years_of(engine) == ["2010"]
    assert listed(engine) == {MAIN_DATES: (True, 3, 4)}
    for call in (engine.attach_dates, engine.drop_dates):
        with pytest.raises(EngineError):
            call("crawl2")
    assert engine.append_dates([also(ONE, "2016")], into="crawl2") == 1
    assert years_of(engine) == ["2010", "2016"]


@pytest.mark.parametrize("name", ["", "A", "a/b", "..", "-a", "a b", "a" * 64, "*"])
def test_names_are_plain(engine: Engine, name: str) -> None:
    fill(engine)
    for call in (
        lambda: engine.attach_dates(name),
        lambda: engine.drop_dates(name),
        lambda: engine.append_dates([also(ONE, "2015")], into=name),
    ):
        with pytest.raises(UsageError, match="cannot name a dates index"):
            call()


def test_the_main_index_is_neither_attached_nor_dropped(engine: Engine) -> None:
    fill(engine)
    for call in (engine.attach_dates, engine.drop_dates):
        with pytest.raises(UsageError):
            call(MAIN_DATES)


def test_what_is_not_there_is_an_error(engine: Engine) -> None:
    fill(engine)
    with pytest.raises(EngineError):
        engine.attach_dates("nothing")
    with pytest.raises(EngineError):
        engine.attach_dates("nothing", "/nowhere/at-all")
    with pytest.raises(EngineError, match="no dates index is attached as 'nothing'"):
        engine.detach_dates("nothing")


def test_others_see_what_is_attached(open_archive: Opener) -> None:
    with open_archive() as engine:
        fill(engine)
    with open_archive() as reader:
        assert years_of(reader) == ["2010"]
        assert ask(reader, DateRange(full("2015"), full("2016"))) == set()
        with open_archive() as writer:
            writer.append_dates([also(ONE, "2015")], into="a")
            writer.refresh()
    with open_archive() as reader:
        assert ask(reader, DateRange(full("2015"), full("2016"))) == {"one"}
        with open_archive() as writer:
            writer.append_dates([also(ONE, "2018")], into="a")
            writer.refresh()
        assert ask(reader, DateRange(full("2018"), full("2019"))) == {"one"}


def test_documents_find_dates_that_were_there_before(open_archive: Opener) -> None:
    late = page("http://example.org/late", "2014", "late")
    with open_archive() as engine:
        fill(engine)
        engine.append_dates([also(late, "2003"), also(ONE, "2004")], into="a")
        engine.refresh()
        assert ask(engine, DateRange(full("2003"), full("2005"))) == {"one"}
        engine.write(batch([late]))
        engine.refresh()
        assert ask(engine, DateRange(full("2003"), full("2005"))) == {"one", "late"}
        assert years_of(engine, late) == ["2003", "2014"]


def test_a_scan_gives_the_dates_of_all_indices(engine: Engine) -> None:
    fill(engine)
    engine.append_dates([also(ONE, "2015", "2010"), ORPHAN], into="a")
    engine.append_dates([also(ONE, "2009"), ORPHAN], into="b")
    engine.refresh()
    entries = list(engine.scan(IndexName.DATES))
    ids = [one.capture.document_id for one in PAGES] + [document_id(ORPHAN.key)]
    assert [entry["id"] for entry in entries] == sorted(ids)
    by_id = {entry["id"]: entry for entry in entries}
    own = (full("2010"), "web")
    key = document_key(ONE.capture.url, ONE.capture.digest)
    pairs = ((full("2009"), "web"), own, (full("2015"), "web"))
    assert by_id[ids[0]] == dates_entry(Dates(key, pairs))
    assert by_id[document_id(ORPHAN.key)] == dates_entry(ORPHAN)
    of_b = list(engine.scan_dates("b"))
    assert sorted(one.key for one in of_b) == sorted((key, ORPHAN.key))
    assert len(list(engine.scan_dates(MAIN_DATES))) == 3


def build(engine: Engine, place: str, dates: Sequence[Dates]) -> None:
    with engine.build_dates(place) as builder:
        for one in dates:
            builder.append([one])


def test_an_index_is_built_beside_and_swapped_in_whole(engine: Engine) -> None:
    fill(engine)
    engine.append_dates([also(ONE, "2015"), also(TWO, "2016")], into="a")
    engine.refresh()
    with engine.build_dates("a") as builder:
        assert builder.append([also(ONE, "2017"), also(ONE, "2018")]) == 2
        assert builder.append([also(ONE, "2018"), also(THREE, "2019")]) == 1
        assert years_of(engine) == ["2010", "2015"]
    engine.refresh()
    assert years_of(engine) == ["2010", "2017", "2018"]
    assert years_of(engine, TWO) == ["2012", "2013"]
    assert ask(engine, DateRange(full("2015"), full("2016"))) == set()
    assert ask(engine, DateRange(full("2017"), full("2019"))) == {"one", "three"}
    build(engine, "a", [also(ONE, "2020")])
    engine.refresh()
    assert years_of(engine) == ["2010", "2020"]
    assert listed(engine) == {MAIN_DATES: (True, 3, 4), "a": (True, 1, 1)}
    assert engine.append_dates([also(ONE, "2021")], into="a") == 1


def test_a_build_that_fails_changes_nothing(engine: Engine) -> None:
    fill(engine)
    engine.append_dates([also(ONE, "2015")], into="a")
    for name in ("a", "b"):
        with pytest.raises(ZeroDivisionError), engine.build_dates(name) as builder:
            builder.append([also(ONE, "2017")])
            raise ZeroDivisionError
    engine.refresh()
    assert years_of(engine) == ["2010", "2015"]
    assert listed(engine) == {MAIN_DATES: (True, 3, 4), "a": (True, 1, 1)}


def test_the_main_index_is_not_built_anew(engine: Engine) -> None:
    fill(engine)
    with pytest.raises(UsageError, match="cannot be rebuilt"), engine.build_dates(MAIN_DATES):
        pass


def test_an_index_of_another_archive_is_attached(
    open_archive: Opener, open_another: Opener
) -> None:
    with open_another() as other:
        fill(other)
        other.append_dates([also(ONE, "1999")])
        other.append_dates([also(ONE, "1998")], into="old")
        other.refresh()
        places = {one.name: one for one in other.dates_indices()}
    with open_archive() as engine:
        fill(engine)
        engine.attach_dates("theirs", places[MAIN_DATES].address)
        assert years_of(engine) == ["1999", "2010"]
        assert ask(engine, DateRange(full("1999"), full("2000"))) == {"one"}
        with pytest.raises(EngineError, match="already attached"):
            engine.attach_dates("again", places[MAIN_DATES].address)
        with pytest.raises(EngineError, match="another dates index is attached"):
            engine.attach_dates("theirs", places["old"].address)
        with pytest.raises(EngineError, match="detach it"):
            engine.drop_dates("theirs")
        own = next(one for one in engine.dates_indices() if one.name == MAIN_DATES)
        with pytest.raises(EngineError, match=r"own|itself"):
            engine.attach_dates("self", own.address)
        engine.detach_dates("theirs")
        engine.attach_dates("theirs", places["old"].address)
        assert years_of(engine) == ["1998", "2010"]
        assert {one.name for one in engine.dates_indices()} == {MAIN_DATES, "theirs"}


def test_an_index_that_went_away_is_an_error_and_not_less_dates(
    open_archive: Opener, open_another: Opener
) -> None:
    with open_another() as other:
        fill(other)
        other.append_dates([also(ONE, "1998")], into="old")
        place = next(one for one in other.dates_indices() if one.name == "old").address
    with open_archive() as engine:
        fill(engine)
        engine.attach_dates("theirs", place)
        engine.refresh()
        assert ask(engine, DateRange(full("1998"), full("1999"))) == {"one"}
    with open_another() as other:
        other.drop_dates("old")
    with open_archive() as engine:
        for call in (
            lambda: engine.dates([ONE.capture.document_id]),
            lambda: search(engine, All(), facets=("year",)),
            lambda: search(engine, DateRange(full("1998"), full("1999"))),
            lambda: list(engine.scan(IndexName.DATES)),
        ):
            with pytest.raises(EngineError, match="old"):
                call()
        gone = next(one for one in engine.dates_indices() if one.name == "theirs")
        assert gone == NamedDates("theirs", place, True, problem=gone.problem)
        assert gone.problem
        engine.detach_dates("theirs")
        assert years_of(engine) == ["2010"]
        assert len(search(engine, All()).hits) == 3
