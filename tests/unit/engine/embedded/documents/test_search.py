"""Results of any size, orders, facets and snippets, compared with a scan of all documents."""

import random
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.documents import found, order, view
from nwx.engine.embedded.documents.found import without_joined
from nwx.engine.snippets import Highlighter
from nwx.keys import document_key
from nwx.model import Batch, Collapse, Dates, Document, IndexName, Sort
from nwx.query.question import Question
from nwx.query.tree import All, Bool, Boost, DateRange, Fuzzy, Node, Phrase, Term, Wildcard
from tests.unit.engine.embedded.making import batch, page

COUNT = 300


@pytest.fixture(autouse=True, params=[found.MOST_SCORED, 0])
def most_scored(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(found, "MOST_SCORED", request.param)


def words_of(number: int) -> set[str]:
    return {f"by{n}" for n in (1, 2, 3, 7) if number % n == 0}


def years_of(number: int) -> set[int]:
    return {2000 + number % 10, 2000 + number % 3}


def made() -> Iterator[tuple[Document, Dates]]:
    for number in range(COUNT):
        document = page(
            number,
            " ".join(sorted(words_of(number))),
            timestamp=f"{2000 + number % 10}0101000000",
            content_language="en" if number % 2 else "",
        )
        key = document_key(document.capture.url, document.capture.digest)
        yield document, Dates(key, ((f"{2000 + number % 3}0101000000", "other"),))


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    with EmbeddedEngine(tmp_path_factory.mktemp("embedded") / "archive") as engine:
        documents, dates = zip(*made(), strict=True)
        for start in range(0, COUNT, 50):
            engine.write(batch(*documents[start : start + 50]))
            engine.refresh()
        engine.write(Batch(dates=tuple(dates)))
        engine.refresh()
        yield engine


def numbers(engine: Engine, request: Question) -> list[int]:
    return [int(hit.url.rpartition("/")[2]) for hit in engine.search(request).hits]


@pytest.mark.parametrize("few", [8192, 40, 1])
@pytest.mark.parametrize("word", ["by1", "by2", "by7", "nothing"])
def test_results_of_any_size_are_whole(
    archive: EmbeddedEngine, few: int, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "_FEW", few)
    wanted = [number for number in range(COUNT) if word in words_of(number)]
    answer = archive.search(
        Question(
            Term("", word),
            collapse=Collapse.NONE,
            limit=COUNT,
            facets=("year", "collection", "content_language"),
        )
    )
    assert sorted(int(hit.url.rpartition("/")[2]) for hit in answer.hits) == wanted
    years = Counter(year for number in wanted for year in years_of(number))
    assert {int(one.value): one.count for one in answer.facets["year"]} == years
    assert {one.value: one.count for one in answer.facets["collection"]} == (
        {"web": len(wanted), "other": len(wanted)} if wanted else {}
    )
    odd = sum(number % 2 for number in wanted)
    assert {one.value: one.count for one in answer.facets["content_language"]} == (
        {"en": odd} if odd else {}
    )


@pytest.mark.parametrize("first", [64, 2])
@pytest.mark.parametrize("query", [All(), Term("", "by2"), Term("domain", "example.org")])
def test_equal_scores_are_in_one_order_on_all_pages(
    archive: EmbeddedEngine, first: int, query: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(order, "_FIRST_TRY", first)
    whole = archive.search(Question(query, collapse=Collapse.NONE, limit=COUNT)).hits
    ranks = [(-hit.score, [-int(date) for date in hit.dates[-1:]], hit.id) for hit in whole]
    assert ranks == sorted(ranks)
    pages = [
        hit.id
        for offset in range(0, len(whole), 7)
        for hit in archive.search(
            Question(query, collapse=Collapse.NONE, offset=offset, limit=7)
        ).hits
    ]
    assert pages == [hit.id for hit in whole]


@pytest.mark.parametrize("sort", [Sort.OLDEST, Sort.NEWEST])
def test_dates_order_as_all_of_them_say(archive: EmbeddedEngine, sort: Sort) -> None:
    listed = numbers(archive, Question(Term("", "by3"), sort=sort, limit=COUNT))
    assert len(listed) == COUNT // 3
    oldest = [min(years_of(number)) for number in listed]
    newest = [max(years_of(number)) for number in listed]
    assert (
        oldest == sorted(oldest) if sort is Sort.OLDEST else newest == sorted(newest, reverse=True)
    )


def test_the_same_few_values_are_told_apart_by_name(archive: EmbeddedEngine) -> None:
    request = Question(All(), facets=("collection",), facet_size=1)
    assert [one.value for one in archive.search(request).facets["collection"]] == ["other"]
    none = Question(All(), facets=("collection",), facet_size=0)
    assert archive.search(none).facets["collection"] == ()


def test_searches_go_on_while_an_import_writes(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path / "a") as engine, EmbeddedEngine(tmp_path / "a") as reader:
        engine.create()
        seen = []
        for number in range(30):
            engine.write(batch(page(number, "same words")))
            if number % 3 == 0:
                engine.refresh()
            answer = reader.search(Question(Term("", "words"), facets=("year",)))
            seen.append(answer.total.value)
            assert answer.total.value == reader.count(IndexName.DOCUMENTS)
            assert sum(one.count for one in answer.facets["year"]) == answer.total.value
        assert all(before <= after for before, after in pairwise(seen))
        assert seen[-1] == 28


SPAN = DateRange("20100101000000", "20101231235959")


@pytest.mark.parametrize(
    ("node", "rest", "count"),
    [
        (SPAN, All(), 1),
        (Bool(must=(SPAN, Term("", "a"))), Bool(must=(Term("", "a"),)), 1),
        (Bool(must=(SPAN, SPAN)), All(), 2),
        (Bool(must_not=(SPAN,)), All(), 1),
        (Bool(must=(SPAN,), should=(Term("", "a"),)), Bool((All(),), (Term("", "a"),)), 1),
        (Bool(should=(SPAN, Term("", "a"))), Bool(should=(SPAN, Term("", "a"))), 0),
        (
            Bool(must=(Bool(must=(SPAN, Term("", "a"))), Term("", "b"))),
            Bool(must=(Bool(must=(Term("", "a"),)), Term("", "b"))),
            1,
        ),
        (Boost(SPAN, 2.0), Boost(SPAN, 2.0), 0),
    ],
)
def test_spans_that_hold_for_all_are_taken_out(node: Node, rest: Node, count: int) -> None:
    left, conditions = without_joined(node)
    assert left == rest
    assert len(conditions) == count


TEXT = "nothing here. " * 60 + "The Élysée opens, STRASSE and 東京都 too. " + "the end. " * 60


@pytest.mark.parametrize(
    ("query", "marked"),
    [
        (Term("", "elysee"), ["Élysée"]),
        (Term("content", "ÉLYSÉE"), ["Élysée"]),
        (Term("", "lys"), []),
        (Phrase("", "the élysée"), ["The", "Élysée", "the", "the"]),
        (Wildcard("", "ely*"), ["Élysée"]),
        (Fuzzy("", "elisee", 1), ["Élysée"]),
        (Fuzzy("", "eylsee", 1), ["Élysée"]),
        (Term("", "東京"), ["東京"]),
        (Bool(should=(Term("", "opens"), Term("title", "strasse"))), ["opens", "STRASSE"]),
        (Bool(must=(Term("", "opens"),), must_not=(Term("", "strasse"),)), ["opens"]),
        (Term("domain", "opens"), []),
        (DateRange("20100101000000", "20101231235959"), []),
    ],
)
def test_snippets_mark_what_was_asked_for(query: Node, marked: list[str]) -> None:
    pieces = Highlighter(query).snippet(TEXT)
    assert [text for text, matches in pieces if matches][: len(marked) or None] == marked
    whole = "".join(text for text, _ in pieces)
    assert whole.removeprefix("… ").removesuffix(" …") in TEXT
    assert 200 < len(whole) <= 320


def test_snippets_choose_where_the_rare_words_meet() -> None:
    text = "alpha " * 80 + "and so on " * 60 + "beta stands near alpha here. " + "gamma " * 80
    pieces = Highlighter(Bool(must=(Term("", "alpha"), Term("", "beta")))).snippet(text)
    assert {text for text, matches in pieces if matches} == {"beta", "alpha"}


@pytest.mark.parametrize("text", ["", "short", "x" * 5000, "\n\n\t", "ß" * 400, "𝔘" * 500])
def test_snippets_of_odd_texts(text: str) -> None:
    for query in (Term("", "x"), Fuzzy("", "shor", 2), Wildcard("", "*"), Term("", "ss")):
        pieces = Highlighter(query).snippet(text)
        assert sum(len(piece) for piece, _ in pieces) <= 320


def test_what_is_kept_of_large_results_is_of_their_view(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "_FEW", 2)
    monkeypatch.setattr(view, "_KEPT", 1)
    words = Question(Term("", "words"), collapse=Collapse.NONE)
    english = Question(Term("", "words"), {"content_language": ("en",)}, limit=3)
    with EmbeddedEngine(tmp_path / "a") as engine:
        for number in range(1, 9):
            language = "en" if number % 2 else ""
            engine.write(batch(page(number, "same words", content_language=language)))
            engine.refresh()
            for _ in range(2):
                assert engine.search(words).total.value == number
                assert engine.search(english).total.value == (number + 1) // 2


@pytest.mark.parametrize("seed", range(4))
def test_a_reader_finds_words_as_documents_come_change_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(view, "_FEW", 3)
    chance = random.Random(seed)
    place = tmp_path / "archive"
    with EmbeddedEngine(place) as writer:
        writer.write(batch(*(page(number, "red green blue") for number in range(60))))
        writer.refresh()
        with EmbeddedEngine(place, read_only=True) as reader:
            for step in range(12):
                for word in chance.sample(["red", "green", "blue"], 2):
                    asked = Question(Term("", word), collapse=Collapse.NONE, facets=("year",))
                    with EmbeddedEngine(place, read_only=True) as fresh:
                        read, wanted = reader.search(asked), fresh.search(asked)
                    assert (read.total, read.facets) == (wanted.total, wanted.facets)
                written = {chance.randrange(80) for _ in range(4)}
                pages = [
                    page(number, chance.choice(["red", "green red", "blue"]),
                         timestamp=f"{1999 - step}0101000000")
                    for number in written
                ]  # fmt: skip
                writer.write(batch(*pages))
                if step == 8:
                    gone = pages[0].capture.document_id
                    assert writer.delete(IndexName.DOCUMENTS, [gone]) == 1
                writer.refresh()


@pytest.mark.parametrize("sort", [Sort.RELEVANCE, Sort.NEWEST])
def test_a_capital_that_folding_makes_is_found_in_headings(tmp_path: Path, sort: Sort) -> None:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.write(batch(page(1, headings=("\u0280ing",)), page(2)))
        engine.refresh()
        assert numbers(engine, Question(Term("", "\u0280ing"), sort=sort)) == [1]
