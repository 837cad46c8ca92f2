"""Staging by several processes with one writer gives the same result as a single process."""

import random
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nwx.engine.embedded import EmbeddedEngine, stager
from nwx.engine.embedded.database import connect
from nwx.engine.embedded.text_writer import TextWriter
from nwx.model import Batch, Collapse, Dates, Document, IndexName, Link, Written
from nwx.query.question import Question
from nwx.query.tree import All
from tests.unit.engine.embedded.making import batch, page

LATE, EARLY = page(1, "late"), page(1, "early", timestamp="20090101000000")
ID = LATE.capture.document_id


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stager, "SEGMENT_DOCUMENTS", 1)


def check(engine: EmbeddedEngine) -> None:
    """Test that tantivy and SQLite agree."""
    engine.refresh()
    found = engine.search(Question(All(), collapse=Collapse.NONE, limit=1000))
    entries = [entry["id"] for entry in engine.scan(IndexName.DOCUMENTS)]
    assert sorted(hit.id for hit in found.hits) == sorted(entries)
    assert engine.count(IndexName.DOCUMENTS) == len(entries)
    assert engine._viewer.view().searcher.num_docs == len(entries)


def content(engine: EmbeddedEngine) -> str:
    engine.refresh()
    return engine.documents([ID])[ID].extract.content


@pytest.fixture
def engine(tmp_path: Path) -> EmbeddedEngine:
    engine = EmbeddedEngine(tmp_path / "archive")
    engine.create()
    return engine


def test_staged_batches_are_found(engine: EmbeddedEngine) -> None:
    with EmbeddedEngine(Path(engine.address), read_only=True) as reader:
        staged = [reader.stage(batch(page(3 * n), page(3 * n + 1))) for n in range(3)]
        assert [engine.write_staged(one).documents for one in staged] == [2, 2, 2]
        check(engine)
        engine.close()
        assert len(list(reader.scan(IndexName.DOCUMENTS))) == 6
    assert not list(Path(engine.address, "segments").glob("*"))


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize(("first", "second"), [(LATE, EARLY), (EARLY, LATE)])
def test_of_two_staged_at_once_the_better_stays(
    engine: EmbeddedEngine, first: Document, second: Document, committed: bool
) -> None:
    staged = [engine.stage(batch(one, page(n))) for n, one in ((7, first), (8, second))]
    assert engine.write_staged(staged[0]) == Written(2, 0, 2, 2)
    if committed:
        engine.refresh()
    better = second is EARLY
    assert engine.write_staged(staged[1]) == Written(1, better, 1, 2)
    assert content(engine) == "early"
    check(engine)
    engine.close()


@pytest.mark.parametrize("committed", [False, True])
def test_dates_that_come_in_between_are_kept(engine: EmbeddedEngine, committed: bool) -> None:
    staged = engine.stage(batch(LATE))
    url, digest = LATE.capture.url, LATE.capture.digest
    engine.append_dates([Dates(f"{url} {digest}", (("20200101000000", "web"),))])
    if committed:
        engine.refresh()
    assert engine.write_staged(staged).documents == 1
    check(engine)
    assert len(engine.dates([ID])[ID].seen) == 2
    assert content(engine) == "late"
    engine.close()


def test_a_document_staged_before_a_deletion_is_written(engine: EmbeddedEngine) -> None:
    engine.write(batch(LATE))
    staged = engine.stage(batch(EARLY))
    engine.delete(IndexName.DOCUMENTS, [ID])
    assert engine.write_staged(staged).documents == 1
    assert content(engine) == "early"
    check(engine)
    engine.close()


def entries(engine: EmbeddedEngine) -> dict[IndexName, list[Mapping[str, Any]]]:
    return {index: list(engine.scan(index)) for index in IndexName}


class _KilledError(Exception):
    """Stands for the end of the process."""


def _kill() -> None:
    raise _KilledError


_commit = TextWriter.commit
DEATHS = [
    ("commit", lambda self: _kill()),
    ("commit", lambda self: (_commit(self), _kill())),
    ("tidy", lambda self: _kill()),
]
"""Methods of the text writer, and replacements that end the process in them."""


def write_some(engine: EmbeddedEngine, batches: list[Batch], chance: random.Random) -> None:
    """Write batches, all staged together, or most of them staged before the first is written."""
    if chance.random() < 0.3:
        staging = engine.staging()
        for each in batches:
            staging.add(each)
        engine.write_staged(staging.finish())
        return
    staged = [engine.stage(each) if chance.random() < 0.8 else None for each in batches]
    for each, ready in zip(batches, staged, strict=True):
        if ready is None:
            engine.write(each)
        else:
            engine.write_staged(ready)


def random_batch(chance: random.Random, number: int) -> Batch:
    """Return documents of a few keys, captured at any time, and dates of other keys."""
    documents = [
        page(chance.randrange(12), f"text {stamp}", timestamp=f"2010010100{stamp:04}")
        for stamp in (chance.randrange(6000) for _ in range(chance.randrange(4)))
    ]
    known = page(chance.randrange(12)).capture
    seen = Dates(f"{known.url} {known.digest}", ((f"2011010100{number:04}", "web"),))
    made = batch(*{one.capture.url: one for one in documents}.values())
    return Batch(made.documents, (), (*made.dates, seen))


@pytest.mark.parametrize("seed", range(12))
def test_any_order_of_steps_ends_as_one_writer_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    chance = random.Random(seed)
    batches = [random_batch(chance, number) for number in range(30)]
    with EmbeddedEngine(tmp_path / "one") as alone:
        for each in batches:
            alone.write(each)
        wanted = entries(alone)
    engine = EmbeddedEngine(tmp_path / "many")
    engine.create()
    waiting, uncommitted = list(batches), list[Batch]()
    while waiting:
        count = chance.randint(1, 3)
        now, waiting = waiting[:count], waiting[count:]
        write_some(engine, now, chance)
        uncommitted += now
        step = chance.random()
        if step < 0.3:
            engine.refresh()
            uncommitted = []
        elif step < 0.5:
            waiting, uncommitted = [*uncommitted, *waiting], []
            with monkeypatch.context() as patch:
                patch.setattr(TextWriter, *chance.choice(DEATHS))
                with suppress(_KilledError):
                    engine.refresh()
                engine.close()
            engine = EmbeddedEngine(tmp_path / "many")
            engine.create()
    check(engine)
    assert entries(engine) == wanted
    engine.close()


def test_batches_that_are_staged_together_make_one_segment(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stager, "SEGMENT_DOCUMENTS", 5)
    staging = engine.staging()
    for batch_number in range(4):
        staging.add(batch(page(3 * batch_number), page(3 * batch_number + 1)))
    staged = staging.finish()
    numbers = [row.num for rows in staged.content.batches for row in rows.documents]
    assert sorted(numbers) == list(range(min(numbers), min(numbers) + 8))
    assert min(numbers)
    assert engine.write_staged(staged) == Written(8, 0, 8, 8)
    check(engine)
    assert engine.write_staged(staging.finish()) == Written()
    engine.close()


@pytest.mark.parametrize(("first", "second"), [(LATE, EARLY), (EARLY, LATE)])
@pytest.mark.parametrize("segment", [1, 3, 100])
def test_of_two_of_a_key_that_are_staged_together_the_better_stays(
    engine: EmbeddedEngine,
    monkeypatch: pytest.MonkeyPatch,
    first: Document,
    second: Document,
    segment: int,
) -> None:
    monkeypatch.setattr(stager, "SEGMENT_DOCUMENTS", segment)
    staging = engine.staging()
    for number, one in ((7, first), (8, second), (9, page(10))):
        staging.add(batch(one, page(number)))
    assert engine.write_staged(staging.finish()).documents == 5
    assert content(engine) == "early"
    check(engine)
    engine.close()


def test_captures_that_are_staged_together_make_one_run(engine: EmbeddedEngine) -> None:
    staging = engine.staging()
    for number in range(3):
        staging.add(batch(page(number), page(5)))
    assert engine.write_staged(staging.finish()).captures == 4
    engine.close()
    with closing(connect(Path(engine.address, "archive.sqlite"), read_only=True)) as db:
        assert db.execute("SELECT captures, last_batch FROM runs").fetchall() == [(4, 1)]


def test_free_memory_is_returned_before_a_segment_is_made(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[Path]] = []
    segments = Path(engine.address, "segments")
    monkeypatch.setattr(
        stager, "return_free_memory", lambda: seen.append(list(segments.glob("*/*.store")))
    )
    staged = engine.stage(batch(page(1)))
    assert seen == [[]]
    assert list(segments.glob("*/*.store"))
    assert engine.write_staged(staged).documents == 1
    engine.close()


def test_a_segment_is_full_of_texts_and_links(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stager, "_MOST_CHARACTERS", 100)
    linked = page(1, "x" * 40)
    links = (Link("http://example.org/" + "y" * 20, "z" * 10),)
    linked = replace(linked, extract=replace(linked.extract, links=links))
    staging = engine.staging()
    staging.add(batch(linked))
    assert not staging.is_full
    staging.add(batch(page(2, "x" * 20)))
    assert staging.is_full
    assert engine.write_staged(staging.finish()).documents == 2
    assert not staging.is_full
    engine.close()
