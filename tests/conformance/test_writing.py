"""Entries are stored once, whatever the order and number of writes."""

import pickle
from dataclasses import replace
from itertools import permutations

import pytest

from nwx.engine.base import Engine
from nwx.keys import document_key, precedence
from nwx.model import Batch, Dates, IndexName, SourceFile, Written
from nwx.query.tree import Term
from tests.conformance.archive import also, batch, capture, dates_of, document, full, page
from tests.conformance.asking import search
from tests.conformance.engines import Opener

ABOVE_ENGINES = ("test_the_earliest_capture_makes_the_document_in_any_order",)

HOME = page("http://example.org/", "2010", "welcome home", title="Home")
NEWS = page("http://example.org/news", "2011", "news of the day", collection="other")


def test_entries_are_counted_as_new_once(engine: Engine) -> None:
    both = batch([HOME, NEWS])
    assert engine.write(both) == Written(documents=2, replaced=0, captures=2, dates=2)
    assert engine.write(both) == Written(documents=0, replaced=0, captures=0, dates=0)
    engine.refresh()
    counts = {index: engine.count(index) for index in IndexName}
    full = dict.fromkeys((IndexName.DOCUMENTS, IndexName.DATES, IndexName.CAPTURES), 2)
    assert counts == dict.fromkeys(IndexName, 0) | full


def test_a_document_is_given_back_as_it_was_written(engine: Engine) -> None:
    rich = page(
        "http://пример.рф/a?b=c&d=é",
        "20091231235959",
        "Zeile eins\nZeile zwei — „Anführung“ 日本語 \U0001f600",
        title="Ein Titel",
        headings=("Erste", "Zweite"),
        description="Worum es geht",
        author="Ada",
        content_language="de",
        signature="0123456789abcdef",
        problems=("too long",),
        status=None,
        length=None,
        redirect_to="",
    )
    engine.write(batch([rich, HOME]))
    ids = [rich.capture.document_id, HOME.capture.document_id]
    assert engine.documents([*ids, "0" * 32]) == dict(zip(ids, (rich, HOME), strict=True))
    assert engine.documents([]) == {}


def test_what_another_process_stages_is_written_once(open_archive: Opener) -> None:
    pages = [page(f"http://example.org/{n}", "2010", f"page number {n}") for n in range(120)]
    older = replace(pages[0], capture=replace(pages[0].capture, timestamp=full("2008")))
    file = SourceFile("web", "a.warc.gz", "a.warc.gz", None, "", done_to=5)
    with open_archive() as engine:
        engine.create()
        with open_archive() as other:
            batches = [batch(pages), batch(pages[:60]), Batch((older,), files=(file,))]
            staged = [pickle.loads(pickle.dumps(other.stage(each))) for each in batches]
        assert staged[-1].files == (file,)
        written = [engine.write_staged(each) for each in staged]
        assert sum(one.documents for one in written) == 120
        assert sum(one.captures for one in written) == 120
        engine.refresh()
        assert engine.files() == [file]
        assert [engine.count(index) for index in IndexName][:3] == [120, 120, 120]
        id = older.capture.document_id
        assert engine.documents([id]) == {id: older}
        assert len(search(engine, Term("", "number"), limit=1000).hits) == 120


def test_the_earliest_capture_makes_the_document_in_any_order(open_archive: Opener) -> None:
    versions = [
        document(capture("http://example.org/", year, digest="sha1:" + "A" * 32), title=year)
        for year in ("2008", "2010", "2012")
    ]
    id = versions[0].capture.document_id
    with open_archive() as engine:
        engine.create()
        for order in permutations(versions):
            written = [engine.write(batch([one])) for one in order]
            assert engine.documents([id])[id].extract.title == "2008"
            assert engine.known([id]) == {id: precedence(versions[0].capture)}
            years = [int(one.extract.title) for one in order]
            replaced = [year < min([9999, *years[:n]]) for n, year in enumerate(years)]
            assert [one.documents for one in written] == [1, 0, 0]
            assert [one.replaced for one in written] == [0, *map(int, replaced[1:])]
            engine.delete(IndexName.DOCUMENTS, [id])
            engine.refresh()


def test_one_batch_may_hold_a_document_twice(engine: Engine) -> None:
    late, early = (
        document(capture("http://example.org/", year, digest="sha1:" + "B" * 32), title=year)
        for year in ("2012", "2008")
    )
    assert engine.write(batch([late, early, late])).documents == 1
    id = early.capture.document_id
    assert engine.documents([id])[id].extract.title == "2008"


def test_known_tells_the_precedence_of_what_is_there(engine: Engine) -> None:
    engine.write(batch([HOME]))
    ids = [HOME.capture.document_id, NEWS.capture.document_id]
    assert engine.known(ids) == {ids[0]: precedence(HOME.capture)}
    assert engine.known([]) == {}


def test_known_takes_many_ids_at_once(engine: Engine) -> None:
    engine.write(batch([HOME]))
    ids = [f"{number:032x}" for number in range(3000)]
    assert set(engine.known([*ids, HOME.capture.document_id])) == {HOME.capture.document_id}


def test_a_revisit_may_come_before_its_original(engine: Engine) -> None:
    revisit = capture(HOME.capture.url, "2012", digest=HOME.capture.digest, record_type="revisit")
    first = Batch(captures=(revisit,), dates=dates_of(revisit))
    assert engine.write(first) == Written(captures=1, dates=1)
    assert engine.write(batch([HOME])) == Written(documents=1, captures=1, dates=1)
    id = HOME.capture.document_id
    assert engine.dates([id])[id].seen == (("20100101000000", "web"), ("20120101000000", "web"))


def test_captures_without_digest_are_kept(engine: Engine) -> None:
    bare = capture("http://example.org/odd", digest="")
    assert engine.write(Batch(captures=(bare,))).captures == 1
    engine.refresh()
    assert list(engine.captures(bare.urlkey)) == [bare]


def test_the_ledger_keeps_the_last_word(engine: Engine) -> None:
    begun = SourceFile(
        "web", "b.warc.gz", "/data/b.warc.gz", 100, "abc", 50, False, {"response": 1}
    )
    done = SourceFile("web", "b.warc.gz", "/new", 100, "abc", 100, True, {"response": 2})
    other = SourceFile("art", "z.warc.gz", "z.warc.gz", None, "", 0, False, {})
    engine.write(Batch(files=(begun,)))
    assert engine.files() == [begun]
    engine.write(Batch(files=(done, other)))
    assert engine.files() == [other, done]


def test_an_archive_is_there_when_opened_again(open_archive: Opener) -> None:
    with open_archive() as engine:
        engine.create()
        engine.write(batch([HOME, NEWS], [also(HOME, "2015")]))
        engine.refresh()
    with open_archive() as engine:
        engine.create()
        assert engine.count(IndexName.DOCUMENTS) == 2
        assert engine.write(batch([HOME, NEWS])) == Written()
        key = document_key(HOME.capture.url, HOME.capture.digest)
        seen = (("20100101000000", "web"), ("20150101000000", "web"))
        assert engine.dates([HOME.capture.document_id]) == {
            HOME.capture.document_id: Dates(key, seen)
        }


@pytest.mark.parametrize("length", [8_001, 16_000])
def test_a_long_url_is_a_url(engine: Engine, length: int) -> None:
    long = page("http://example.org/?q=" + "x" * length, content="endless")
    engine.write(batch([long, HOME]))
    engine.refresh()
    id = long.capture.document_id
    assert engine.documents([id]) == {id: long}
    assert list(engine.captures(long.capture.urlkey)) == [long.capture]
    everything = engine.captures("org,example)/", "org,example)0")
    assert list(everything) == [HOME.capture, long.capture]


def test_text_that_utf8_cannot_hold_stops_nothing(engine: Engine) -> None:
    torn = page("http://example.org/torn", content="half \ud83d a pair")
    engine.write(batch([torn]))
    found = engine.documents([torn.capture.document_id])[torn.capture.document_id]
    assert found.extract.content.split()[::2] == ["half", "a"]
