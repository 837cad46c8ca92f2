"""Documents are sent through a pipe unchanged."""

import pickle
from dataclasses import replace
from io import BytesIO
from multiprocessing.reduction import ForkingPickler

import pytest

from nwx.engine.base import StagedBatch, Staging
from nwx.importing import messages
from nwx.importing.messages import Delivery, FilePart, FileTask, Outcome, Verdict
from nwx.model import Batch, Document, Extract, Link, SourceFile
from nwx.warc.sources import ArchiveSource
from tests.conformance.archive import capture
from tests.unit.engine.embedded.making import page


@pytest.mark.parametrize("links", [(), (Link("http://b/", "b", "a"), Link("http://c/", "", "img"))])
def test_extracts_and_captures_are_what_they_were(links: tuple[Link, ...]) -> None:
    assert messages.Message
    found = capture("http://a.example/")
    part = FilePart(
        Batch(documents=(Document(found, Extract(content="text", links=links)),)),
        (),
        {},
        0,
        1,
        0,
        5,
    )
    stream = BytesIO()
    ForkingPickler(stream).dump(part)
    assert pickle.loads(stream.getvalue()) == part


SOURCE = ArchiveSource("a.warc", "a.warc", 5)
TASK = FileTask(SOURCE, "a.warc", None, number=3)
FILE = SourceFile("web", "a.warc", "a.warc", 5, "", done_to=5)
PART = FilePart(Batch((page(1),), files=(FILE,)), (), {}, 1, 1, 0, 5)
LEFT = replace(PART, batch=Batch(files=(FILE,)))
DONE = Verdict(Outcome.IMPORTED)


class Held(Staging):
    """Counts batches only."""

    is_full = False

    def __init__(self) -> None:
        self.batches: list[Batch] = []

    def add(self, batch: Batch) -> None:
        self.batches.append(batch)

    def finish(self) -> StagedBatch:
        staged, self.batches = StagedBatch((), tuple(self.batches)), []
        return staged


@pytest.fixture
def sent() -> list[Delivery]:
    return []


@pytest.fixture
def held(sent: list[Delivery]) -> messages.Outbox:
    return messages.Outbox(sent.append, Held(), 1)


def test_parts_are_held_until_they_are_asked_for(
    held: messages.Outbox, sent: list[Delivery]
) -> None:
    held.deliver()
    for message in (PART, PART, DONE):
        held.add(TASK, message)
    assert sent == []
    held.deliver()
    held.deliver()
    staged = StagedBatch((), (PART.batch, PART.batch))
    assert sent == [Delivery(((3, LEFT), (3, LEFT), (3, DONE)), staged)]


def test_verdicts_alone_write_nothing(held: messages.Outbox, sent: list[Delivery]) -> None:
    held.add(TASK, DONE)
    held.deliver()
    assert sent == [Delivery(((3, DONE),))]


def test_what_is_not_staged_or_deadly_goes_at_once(
    held: messages.Outbox, sent: list[Delivery]
) -> None:
    held.add(replace(TASK, staged=False), PART)
    assert sent == [Delivery(((3, PART),))]
    held.add(replace(TASK, at_once=True), PART)
    assert sent[1:] == [Delivery(((3, LEFT),), StagedBatch((), (PART.batch,)))]


@pytest.mark.parametrize("limit", ["MOST_UNDELIVERED", "UNDELIVERED_SECONDS"])
def test_not_too_much_is_held_nor_too_long(
    held: messages.Outbox, sent: list[Delivery], monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    monkeypatch.setattr(messages, limit, 0)
    held.add(TASK, PART)
    assert len(sent) == 1


def test_a_full_staging_is_delivered(
    held: messages.Outbox, sent: list[Delivery], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Held, "is_full", True)
    held.add(TASK, PART)
    assert len(sent) == 1
