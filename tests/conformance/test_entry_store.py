"""Small entries are put, changed, found, counted and removed in the same way on every engine."""

from collections.abc import Mapping

import pytest

from nwx.engine.base import Engine
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.entry_store import EntryFilter, EntryStore, OrderField
from nwx.model import IndexName

WORST, NEWEST = (OrderField("score"),), (OrderField("checked", descending=True),)


def entry(number: int, **more: object) -> IndexEntry:
    return {
        "id": f"e{number}",
        "collection": "web" if number % 2 else "other",
        "score": number / 8,
        "checked": f"2026010203040{number}",
        "rules": "1",
        **more,
    }


ENTRIES = [
    entry(1, host="a.test", kinds=["leak", "missing"]),
    entry(2, host="b.test", kinds=["leak"]),
    entry(3, host="a.test"),
    entry(4, kinds=["far"]),
]


@pytest.fixture
def store(engine: Engine) -> EntryStore:
    return engine.entry_store(IndexName.QUALITY)


def ids(store: EntryStore, where: EntryFilter, *more: object) -> list[str]:
    return [one["id"] for one in store.find(where, *more)]  # type: ignore[arg-type]


def test_nothing_is_there_at_first(store: EntryStore) -> None:
    assert not store.is_made()
    assert store.get(["e1"]) == {}
    assert store.count() == store.delete(["e1"]) == store.stats().entries == 0
    assert list(store.find()) == store.states() == []
    assert store.totals({}, {"host": 9}, "score").entries == 0
    assert store.update(["e1"], lambda _: {}) == {}


def test_entries_are_found_by_their_fields(store: EntryStore) -> None:
    store.put(ENTRIES)
    assert store.is_made()
    assert list(store.find()) == ENTRIES
    assert ids(store, {"host": "a.test"}) == ["e1", "e3"]
    assert ids(store, {"host": ("a.test", "b.test"), "kinds": "leak"}) == ["e1", "e2"]
    assert ids(store, {"kinds": ("far", "missing")}) == ["e1", "e4"]
    assert ids(store, {"host": ""}) == ["e4"]
    assert ids(store, {}, NEWEST, 2, 1) == ["e3", "e2"]
    assert ids(store, {"kinds": "leak"}, WORST, 1) == ["e1"]
    assert store.count({"collection": "web"}) == 2
    assert store.get(["e2", "e9"]) == {"e2": ENTRIES[1]}
    assert store.get(["e2"], ("rules",)) == {"e2": {"rules": "1"}}


def test_entries_are_counted_by_their_fields(store: EntryStore) -> None:
    store.put(ENTRIES)
    found = store.totals({}, {"kinds": 9, "collection": 1}, "score")
    assert (found.entries, found.mean) == (4, 0.3125)
    assert found.groups["kinds"] == (("leak", 2, 0.1875), ("far", 1, 0.5), ("missing", 1, 0.125))
    assert found.groups["collection"] == (("other", 2, 0.375),)
    some = store.totals({"collection": "web"}, {"host": 9, "kinds": 9}, "score")
    assert some.groups["host"] == (("a.test", 2, 0.25),)
    assert [one.value for one in some.groups["kinds"]] == ["leak", "missing"]


def test_entries_are_changed_by_what_is_there(store: EntryStore) -> None:
    store.put(ENTRIES[:2])
    asked = {}

    def change(known: Mapping[str, IndexEntry | None]) -> dict[str, IndexEntry | None]:
        asked.update(known)
        return {"e1": None, "e2": entry(2, host="new.test"), "e3": ENTRIES[2]}

    assert set(store.update(["e1", "e2", "e3"], change)) == {"e1", "e2", "e3"}
    assert asked == {"e1": ENTRIES[0], "e2": ENTRIES[1], "e3": None}
    assert ids(store, {}) == ["e2", "e3"]
    assert ids(store, {"host": "new.test"}) == ["e2"]
    assert ids(store, {"kinds": "leak"}) == []
    assert store.delete(["e2", "e2", "e9"]) == 1


def test_a_version_tells_of_changes(engine: Engine) -> None:
    rules = engine.entry_store(IndexName.ACCESS)
    rules.renew()
    assert rules.version() == ""
    versions = {""}
    for number in range(3):
        rules.put([{"id": f"rule/{number}", "kind": "rule"}])
        assert rules.version() == rules.version() not in versions
        versions.add(rules.version())
    assert rules.update(["rule/0"], lambda _: {}) == {}
    mark, _, _ = rules.version().rpartition("-")
    assert rules.version() in versions
    rules.renew()
    assert not rules.version().startswith(mark)
