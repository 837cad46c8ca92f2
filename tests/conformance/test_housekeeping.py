"""Streaming, deleting, sizes, versions."""

from nwx.engine.base import Engine
from nwx.engine.document_index import RESULT_WINDOW
from nwx.engine.entries import capture_entry, dates_entry, document_entry
from nwx.model import Batch, Collapse, Dates, IndexName, SourceFile, Total
from nwx.query.question import Question
from nwx.query.tree import All, Term
from tests.conformance.archive import also, batch, page
from tests.conformance.asking import ask, search
from tests.conformance.engines import Opener

ABOVE_ENGINES = (
    "test_what_pages_cannot_reach_is_still_counted",
    "test_everything_is_streamed_beyond_a_page",
)

NEW_ARCHIVES = True
"""Deleted entries would count in the statistics tested here."""

PAGES = [page(f"http://example.org/{n}", "2010", f"number {n}", title=f"N {n}") for n in range(5)]


def test_scan_gives_entries_as_their_mappings_say(engine: Engine) -> None:
    ledger = SourceFile("web", "a.warc.gz", "a.warc.gz", 10, "abc", 10, True, {"response": 5})
    full = batch(PAGES, [also(PAGES[0], "2012 other")])
    engine.write(full)
    engine.write(Batch(files=(ledger,)))
    engine.refresh()
    documents = sorted(map(document_entry, full.documents), key=lambda entry: entry["id"])
    assert list(engine.scan(IndexName.DOCUMENTS)) == documents
    captures = sorted(map(capture_entry, full.captures), key=lambda entry: entry["id"])
    assert list(engine.scan(IndexName.CAPTURES)) == captures
    dates = list(engine.scan(IndexName.DATES))
    assert [entry["id"] for entry in dates] == sorted(entry["id"] for entry in dates)
    first = next(entry for entry in dates if entry["id"] == PAGES[0].capture.document_id)
    pairs = (("20100101000000", "web"), ("20120101000000", "other"))
    assert first == dates_entry(Dates(first["key"], pairs))
    assert [entry["name"] for entry in engine.scan(IndexName.FILES)] == ["a.warc.gz"]
    assert list(engine.scan(IndexName.FACETS)) == []


def test_everything_is_streamed_beyond_a_page(engine: Engine) -> None:
    many = [page(f"http://example.org/{n}", "2010", f"word {n}") for n in range(2345)]
    engine.write(batch(many))
    engine.refresh()
    ids = sorted(one.capture.document_id for one in many)
    assert [entry["id"] for entry in engine.scan(IndexName.DOCUMENTS)] == ids
    assert sorted(hit.id for hit in engine.scroll(Question(All()))) == ids
    assert sorted(hit.id for hit in engine.scroll(Question(Term("", "word")))) == ids


def test_what_pages_cannot_reach_is_still_counted(engine: Engine) -> None:
    pages = [page(f"http://example.org/{n}", "2010", "word") for n in range(RESULT_WINDOW + 5)]
    for start in range(0, len(pages), 2000):
        engine.write(Batch(documents=tuple(pages[start : start + 2000])))
    engine.refresh()
    last = {"offset": RESULT_WINDOW - 3, "limit": 3}
    plain = search(engine, Term("", "word"), **last)
    assert len(plain.hits) == 3
    assert plain.total == plain.documents == Total(len(pages))
    folded = search(engine, Term("", "word"), collapse=Collapse.URL, **last)
    assert len(folded.hits) == 3
    assert folded.documents == Total(len(pages))
    if engine.traits.estimates:
        assert folded.total == Total(RESULT_WINDOW, "gte")
    else:
        assert folded.total == Total(len(pages))
    streamed = {hit.id for hit in engine.scroll(Question(All()))}
    assert len(streamed) == len(pages)


def test_what_is_deleted_is_gone(engine: Engine) -> None:
    engine.write(batch(PAGES))
    engine.refresh()
    ids = [one.capture.document_id for one in PAGES]
    assert engine.delete(IndexName.DOCUMENTS, [*ids[:2], "0" * 32]) == 2
    assert engine.delete(IndexName.DATES, ids[:1]) == 1
    assert engine.delete(IndexName.CAPTURES, []) == 0
    engine.refresh()
    assert engine.count(IndexName.DOCUMENTS) == 3
    assert engine.count(IndexName.DATES) == 4
    assert set(engine.known(ids)) == set(ids[2:])
    assert ask(engine, All()) == {"2", "3", "4"}
    assert engine.delete(IndexName.DOCUMENTS, ids[:2]) == 0


def test_what_was_deleted_may_come_back_at_once(engine: Engine) -> None:
    engine.write(batch(PAGES))
    engine.delete(IndexName.DOCUMENTS, [PAGES[0].capture.document_id])
    assert engine.write(batch(PAGES)).documents == 1
    engine.refresh()
    assert ask(engine, All()) == {"0", "1", "2", "3", "4"}


def test_captures_and_files_can_be_deleted(engine: Engine) -> None:
    ledger = SourceFile("web", "a.warc.gz", "a.warc.gz", 10, "abc", 10, True, {})
    engine.write(Batch(files=(ledger,)))
    engine.write(batch(PAGES))
    engine.refresh()
    entry = capture_entry(PAGES[0].capture)
    assert engine.delete(IndexName.CAPTURES, [entry["id"]]) == 1
    assert engine.delete(IndexName.FILES, ["web/a.warc.gz"]) == 1
    engine.refresh()
    assert engine.files() == []
    assert engine.count(IndexName.CAPTURES) == 4


def test_sizes_are_told(engine: Engine) -> None:
    engine.write(batch(PAGES))
    engine.refresh()
    stats = engine.stats()
    assert set(stats) == set(IndexName)
    entries = [stats[index].entries for index in IndexName]
    assert entries == [5, 5, 5] + [0] * (len(IndexName) - 3)
    sizes = [stats[index].bytes for index in (IndexName.DOCUMENTS, IndexName.CAPTURES)]
    assert all(size is not None and size > 0 for size in sizes)


def test_an_empty_archive_answers(engine: Engine) -> None:
    assert ask(engine, All()) == set()
    assert engine.files() == []
    assert list(engine.captures("org,example)/")) == []
    assert [engine.count(index) for index in IndexName] == [0] * len(IndexName)
    assert list(engine.scroll(Question(Term("", "x")))) == []


def test_creating_twice_and_closing_twice_is_harmless(open_archive: Opener) -> None:
    with open_archive() as engine:
        engine.create()
        engine.write(batch(PAGES))
        engine.create()
        engine.refresh()
        assert engine.count(IndexName.DOCUMENTS) == 5
        engine.close()
