"""The outbox of updates for a crawler's queue: ordered, each delivered once, none lost."""

import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import UpdateOutbox, UrlUpdate
from nwx.model import Batch
from tests.conformance.engines import ENGINES, Opener

A, B, C = (f"http://{host}.example/" for host in "abc")

BATCHES: list[Batch] = []
"""The archive of this module has only an outbox, which is emptied for each test."""


@pytest.fixture
def outbox(archive: Engine, kind: str) -> UpdateOutbox:
    ENGINES[kind].empty_queue(archive)
    return archive.outbox()


UPDATES = [
    UrlUpdate(A, 0.5, via=B, crawl="one"),
    UrlUpdate(B, None),
    UrlUpdate(A, 0.25, lifted=True, again=True),
]


def test_an_outbox_keeps_the_order(outbox: UpdateOutbox) -> None:
    assert outbox.pending("http://q.example", 10) == []
    assert outbox.queues() == {}
    outbox.add(UPDATES[:1], "http://q.example")
    outbox.add([UrlUpdate(C, 0.1)], "http://other.example")
    outbox.add(UPDATES[1:], "http://q.example")
    found = outbox.pending("http://q.example", 10)
    assert [entry.update for entry in found] == UPDATES
    assert [entry.number for entry in found] == sorted({entry.number for entry in found})
    assert outbox.pending("http://q.example", 2) == found[:2]
    assert outbox.queues() == {"http://other.example": 1, "http://q.example": 3}


def test_what_is_delivered_is_removed(outbox: UpdateOutbox) -> None:
    outbox.add(UPDATES, "http://q.example")
    outbox.add(UPDATES[:1], "http://other.example")
    first = outbox.pending("http://q.example", 2)
    outbox.delivered("http://q.example", first[-1].number)
    assert [entry.update for entry in outbox.pending("http://q.example", 9)] == UPDATES[2:]
    outbox.add(UPDATES[:1], "http://q.example")
    left = outbox.pending("http://q.example", 9)
    assert left[0].number > first[-1].number
    outbox.delivered("http://q.example", left[-1].number)
    assert outbox.queues() == {"http://other.example": 1}


def test_numbers_are_not_given_again(open_archive: Opener) -> None:
    numbers, senders = [], set()
    for _ in range(3):
        with open_archive() as engine:
            outbox = engine.outbox()
            outbox.add(UPDATES[:1], "q")
            (entry,) = outbox.pending("q", 5)
            outbox.delivered("q", entry.number)
            numbers.append(entry.number)
            senders.add(outbox.sender())
    assert numbers == sorted(set(numbers))
    assert len(senders) == 1


def test_what_others_add_meanwhile_is_not_removed(open_archive: Opener) -> None:
    with open_archive() as first, open_archive() as second:
        first.outbox().add(UPDATES[:1], "q")
        outbox = second.outbox()
        found = outbox.pending("q", 5)
        first.outbox().add(UPDATES[1:2], "q")
        outbox.delivered("q", found[-1].number)
        assert [entry.update for entry in outbox.pending("q", 5)] == UPDATES[1:2]
