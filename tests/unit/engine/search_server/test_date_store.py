"""Dates added and removed, by one process and by several at once, on an in-memory server."""

from collections.abc import Iterator
from contextlib import suppress
from random import Random

import pytest

from nwx.engine.search_server import date_store, schema
from nwx.engine.search_server.date_store import DatesStore
from nwx.engine.search_server.documents.date_entries import above, document_of
from nwx.errors import EngineBusyError
from nwx.keys import document_id
from nwx.model import Dates
from tests.unit.engine.search_server.memory_server import MemoryServer

KEY = "http://example.org/ sha1:A"
ID = document_id(KEY)
Pairs = set[tuple[str, str]]


@pytest.fixture(autouse=True)
def _small_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "DATES_OF_ENTRY", 3)
    monkeypatch.setattr(date_store, "pause", lambda attempt: None)


def moments(random: Random, count: int) -> Pairs:
    """Return random pairs, some of them close together."""
    return {
        (
            f"{random.choice((1999, 2004, 2004, 2004))}{random.choice((1, 2, 2)):02}"
            f"{random.choice((3, 28)):02}{random.choice((0, 7)):02}"
            f"{random.randrange(3):02}{random.randrange(4):02}",
            random.choice(("web", "art/x")),
        )
        for _ in range(count)
    }


def dates(pairs: Pairs) -> Dates:
    return Dates(KEY, tuple(sorted(pairs)))


def stored(server: MemoryServer) -> Pairs:
    found = DatesStore(server.server, "dates").read([ID])
    return set(found[ID].seen) if found else set()


def check(server: MemoryServer, *, once: bool = True) -> None:
    """Check the invariants of queries: each date is stored once, all entries can be found."""
    places: dict[str, str] = {}
    for id, entry in server.entries.items():
        name = id.partition(".")[2]
        assert document_of(id) == ID
        assert (entry["id"], entry["key"]) == (id, KEY)
        assert entry.get("chunk", "") == name
        assert entry["count"] == len(entry["seen"])
        assert sorted(entry["dates"]) == sorted({text[-14:] for text in entry["seen"]})
        assert entry["count"] <= schema.DATES_OF_ENTRY or len(name) == 14
        assert ("years" in entry) == ("collections" in entry) == (not name)
        for text in entry["seen"]:
            assert text[-14:].startswith(name)
            assert text not in places or not once, "each date has one place"
            places[text] = id
        if name:
            over = above(name)[-1]
            assert name in server.entries[f"{ID}.{over}" if over else ID]["chunks"]
    if places:
        first = server.entries[ID]
        years = {int(text[-14:-10]) for text in places}
        collections = {text[:-15] for text in places}
        assert years <= set(first["years"])
        assert collections <= set(first["collections"])


@pytest.mark.parametrize("seed", range(30))
def test_dates_are_sets_whatever_is_added_and_removed(seed: int) -> None:
    random, server, known = Random(seed), MemoryServer(), Pairs()
    store = DatesStore(server.server, "dates")
    for _ in range(30):
        some = moments(random, random.choice((1, 2, 20)))
        if random.random() < 0.65:
            assert store.add([dates(some)]) == len(some - known)
            known |= some
        else:
            some |= set(random.sample(sorted(known), min(len(known), random.choice((1, 30)))))
            assert store.remove([dates(some)]) == len(some & known)
            known -= some
        assert stored(server) == known
        check(server)
    store.remove([dates(known)])
    assert not server.entries, "nothing is left of a document without dates"


@pytest.mark.parametrize("seed", range(60))
def test_others_that_write_in_between_lose_nothing(seed: int) -> None:
    random, server = Random(seed), MemoryServer()
    known = moments(random, random.choice((3, 30)))
    DatesStore(server.server, "dates").add([dates(known)])
    removed = set(random.sample(sorted(known), len(known) * random.choice((0, 1, 2)) // 2))
    new = moments(random, 30) - known
    parts = [set(sorted(new)[start::3]) for start in range(3)]
    work: list[Iterator[int]] = []

    def in_between(path: str) -> None:
        while work and random.random() < 0.5:
            next(work.pop())

    def adding(some: Pairs) -> Iterator[int]:
        yield DatesStore(server.server, "dates").add([dates(some)])

    def removing() -> Iterator[int]:
        yield DatesStore(server.server, "dates").remove([dates(removed)])

    work += [adding(parts[1]), removing(), adding(parts[2])]
    random.shuffle(work)
    server.before = in_between
    assert DatesStore(server.server, "dates").add([dates(parts[0])]) == len(parts[0])
    while work:
        next(work.pop())
    assert stored(server) == (known - removed) | new
    # If the document is deleted in between, a date may be in two entries.
    check(server, once=removed != known)


@pytest.mark.parametrize("seed", range(40))
def test_a_writer_that_is_stopped_anywhere_leaves_what_the_next_one_completes(seed: int) -> None:
    random, server = Random(seed), MemoryServer()
    store = DatesStore(server.server, "dates")
    known, new = moments(random, 15), moments(random, 10)
    store.add([dates(known)])
    left = random.randrange(12)

    def stopped(path: str) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt

    server.before = stopped
    change = store.remove if random.random() < 0.5 else store.add
    with suppress(KeyboardInterrupt):
        change([dates(known | new)])
    server.before = lambda path: None
    assert stored(server) <= known | new
    change([dates(known | new)])
    assert stored(server) == (known | new if change == store.add else set())
    check(server)


def test_one_more_date_costs_the_same_however_many_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schema, "DATES_OF_ENTRY", 50)
    server = MemoryServer()
    store = DatesStore(server.server, "dates")
    every = {
        (f"2004{n // 28 % 12 + 1:02}{n % 28 + 1:02}{n // 336:02}0000", "web") for n in range(4000)
    }
    store.add([dates(every)])
    server.read_ids, server.requests = 0, []
    before = server.written
    assert store.add([dates({("20040228235959", "web")})]) == 1
    assert server.requests.count("_bulk") == server.written - before == 1
    assert (len(server.requests), server.read_ids) <= (6, 12)


def test_who_never_gets_a_turn_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "DATES_OF_ENTRY", 50)
    server = MemoryServer()
    store = DatesStore(server.server, "dates")
    store.add([dates({("20040101000000", "web")})])

    def change(path: str) -> None:
        if path == "_bulk":
            server.before = lambda path: None
            first = server.entries[ID]
            DatesStore(server.server, "dates").add(
                [dates({(f"{int(first['dates'][-1]) + 1}", "web")})]
            )
            server.before = change

    server.before = change
    with pytest.raises(
        EngineBusyError, match="other processes keep writing the dates of 1 documents"
    ):
        store.add([dates({("20050101000000", "web")})])


def test_an_entry_of_an_older_version_is_read_and_added_to() -> None:
    server = MemoryServer()
    seen = [f"web/2004010100{n:02}00" for n in range(10)]
    server.entries[ID] = {
        "id": ID, "key": KEY, "seen": seen, "dates": [one[4:] for one in seen],
        "count": 10, "num": 1, "years": [2004], "collections": ["web"],
    }  # fmt: skip
    server.versions[ID] = 1
    store = DatesStore(server.server, "dates")
    assert store.add([dates({("20040101000500", "web"), ("20050101000000", "web")})]) == 1
    assert len(stored(server)) == 11
    assert set(server.entries[ID]["years"]) == {2004, 2005}
    assert server.entries[f"{ID}.2005"]["count"] == 1


def test_all_dates_of_documents_are_deleted() -> None:
    server, random = MemoryServer(), Random(1)
    store = DatesStore(server.server, "dates")
    store.add([dates(moments(random, 30))])
    assert store.delete([ID, "0" * 32]) == 1
    assert not server.entries
