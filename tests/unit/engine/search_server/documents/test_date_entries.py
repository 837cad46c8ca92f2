"""The dates of a document in several entries."""

from collections.abc import Iterable

import pytest

from nwx.engine.entries import dates_entry
from nwx.engine.search_server import schema
from nwx.engine.search_server.documents import date_entries
from nwx.engine.search_server.documents.date_entries import (
    EntryState,
    above,
    joined_chunks,
    with_dates,
)
from nwx.keys import document_id
from nwx.model import Dates

KEY = "http://example.org/ sha1:A"
ID = document_id(KEY)


def texts(*moments: str) -> frozenset[str]:
    return frozenset(f"web/{moment:0<14}" for moment in moments)


@pytest.fixture(autouse=True)
def _two_dates_an_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "DATES_OF_ENTRY", 2)


def test_an_entry_takes_dates_until_it_is_full_and_lists_chunks_for_the_others() -> None:
    wanted = texts("20100101", "20110101", "20120101", "20120202")
    state, below = with_dates("", EntryState(), wanted)
    assert state.seen == texts("20100101", "20110101")
    assert below == {"2012": texts("20120101", "20120202")}
    assert (state.chunks, state.years) == ({"2012"}, {2010, 2011, 2012})
    assert state.collections == {"web"}


def test_an_entry_with_chunks_takes_none_though_there_is_room() -> None:
    state, below = with_dates("", EntryState(chunks=frozenset({"2012"})), texts("20100101"))
    assert (state.seen, below) == (frozenset(), {"2010": texts("20100101")})
    assert state.chunks == {"2010", "2012"}


def test_dates_that_are_there_change_nothing() -> None:
    known = EntryState(texts("20100101", "20110101"), frozenset({"2012"}))
    assert with_dates("", known, texts("20110101")) == (known, {})


def test_chunks_get_narrower_down_to_a_second() -> None:
    names, name = [], "2012"
    for _ in range(5):
        ((name, _),) = date_entries.by_chunk(name, texts("20120203040506")).items()
        names.append(name)
    assert names == ["201202", "20120203", "2012020304", "201202030405", "20120203040506"]
    assert above(name) == ["", "2012", *names[:-1]]
    full = EntryState(frozenset(f"{n}/20120203040506" for n in range(5)))
    state, below = with_dates(name, full, frozenset({"web/20120203040506"}))
    assert (len(state.seen), below) == (6, {})


def stored(*parts: tuple[str, Iterable[str]]) -> list[dict[str, object]]:
    return [
        date_entries.stored_entry(ID, name, KEY, EntryState(texts(*moments)))
        for name, moments in parts
    ]


def test_entries_of_a_document_are_streamed_as_one() -> None:
    other = dates_entry(Dates("http://example.org/other -", (("20100101000000", "web"),)))
    parts = stored(("", ["2013"]), ("2012", ["201201", "201203"]), ("201202", ["20120215"]))
    found = list(joined_chunks([*parts, other]))
    moments = ["20120100000000", "20120215000000", "20120300000000", "20130000000000"]
    pairs = tuple((moment, "web") for moment in moments)
    assert found == [dates_entry(Dates(KEY, pairs)), other]


def test_a_first_entry_without_dates_and_chunks_is_none() -> None:
    assert not list(joined_chunks(stored(("", []), ("2012", []))))


def test_an_entry_by_itself_names_its_own_years() -> None:
    state = EntryState(texts("2010", "2011"), years=frozenset({1999}))
    assert date_entries.stored_entry(ID, "", KEY, state)["years"] == [2010, 2011]
