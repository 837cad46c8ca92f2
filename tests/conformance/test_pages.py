"""Pages of results, the last page, and snippets."""

import pytest

from nwx.engine.base import Engine
from nwx.engine.document_index import RESULT_WINDOW
from nwx.errors import WindowError
from nwx.model import Collapse, Total
from nwx.query.question import Question
from nwx.query.tree import All, Bool, Fuzzy, Phrase, Term, Wildcard
from tests.conformance.archive import batch, page
from tests.conformance.asking import search

ABOVE_ENGINES = ("test_a_book_has_a_snippet",)

NEW_ARCHIVES = True
"""Deleted entries would count in the statistics tested here."""

FILLER = "nothing to see here, only words that fill the page. " * 40
LONG = f"{FILLER}Then the Élysée opens. {FILLER}filltheend"
BATCHES = [
    batch(
        [page(f"http://example.org/{n}", "2010", f"number {n}") for n in range(30)]
        + [
            page("http://example.org/long", "2010", LONG),
            page("http://example.org/html", "2010", "<b>bold</b> & <script>alert(1)</script>"),
            page("http://example.org/title", "2010", "some text", title="Headline"),
            page("http://example.org/empty", "2010", ""),
            page("http://example.org/marks", "2010", "private \ue000 and \ue001 use"),
        ]
    )
]


def test_pages_hold_what_was_asked(archive: Engine) -> None:
    first = search(archive, Term("", "number"), limit=12)
    assert len(first.hits) == 12
    assert first.total == Total(30)
    last = search(archive, Term("", "number"), limit=12, offset=24)
    assert len(last.hits) == 6
    beyond = search(archive, Term("", "number"), limit=12, offset=40)
    assert beyond.hits == ()
    assert beyond.total == Total(30)


def test_a_page_of_nothing_has_totals_and_facets(archive: Engine) -> None:
    found = search(archive, Term("", "number"), limit=0, facets=("domain",))
    assert found.hits == ()
    assert found.total == Total(30)
    assert found.facets["domain"][0].count == 30


@pytest.mark.parametrize("collapse", list(Collapse))
def test_pages_end_at_the_window(archive: Engine, collapse: Collapse) -> None:
    inside = Question(All(), offset=RESULT_WINDOW - 10, limit=10, collapse=collapse)
    assert archive.search(inside).hits == ()
    with pytest.raises(WindowError, match=f"{RESULT_WINDOW:,}"):
        archive.search(Question(All(), offset=RESULT_WINDOW - 9, limit=10, collapse=collapse))


def snippet(archive: Engine, query: object) -> tuple[tuple[str, bool], ...]:
    found = archive.search(Question(query))  # type: ignore[arg-type]
    assert len(found.hits) == 1
    return found.hits[0].snippet


def test_a_snippet_shows_the_match_in_its_place(archive: Engine) -> None:
    pieces = snippet(archive, Term("", "elysee"))
    assert [text for text, matches in pieces if matches] == ["Élysée"]
    text = "".join(text for text, _ in pieces)
    assert "Then the Élysée opens" in text
    assert len(text) < 600


@pytest.mark.parametrize(
    "query",
    [
        Phrase("", "the Élysée"),
        Wildcard("", "elys*"),
        Fuzzy("", "elysees", 1),
        Term("content", "ÉLYSÉE"),
        Bool(must=(Term("", "élysée"), Term("domain", "example.org"))),
    ],
)
def test_every_kind_of_match_is_shown(archive: Engine, query: object) -> None:
    marked = " ".join(text for text, matches in snippet(archive, query) if matches)
    assert "Élysée" in marked


def test_a_snippet_is_text_as_it_is(archive: Engine) -> None:
    pieces = snippet(archive, Term("", "bold"))
    assert "".join(text for text, _ in pieces) == "<b>bold</b> & <script>alert(1)</script>"
    assert [text for text, matches in pieces if matches] == ["bold"]


def test_archived_text_cannot_mark_itself(archive: Engine) -> None:
    pieces = snippet(archive, Term("", "private"))
    assert [text for text, matches in pieces if matches] == ["private"]


def test_a_match_elsewhere_shows_the_beginning(archive: Engine) -> None:
    pieces = snippet(archive, Term("title", "headline"))
    assert "".join(text for text, _ in pieces) == "some text"


def test_a_book_has_a_snippet(engine: Engine) -> None:
    book = "the quick brown fox jumps over the lazy dog\n" * 30_000
    engine.write(batch([page("http://example.org/book", "2010", book + "The Élysée.")]))
    engine.refresh()
    (hit,) = engine.search(Question(Term("", "elysee"))).hits
    assert 0 < len("".join(text for text, _ in hit.snippet)) < 600
    (hit,) = engine.search(Question(Term("", "fox"))).hits
    assert "fox" in [text for text, matches in hit.snippet if matches]


LONG_TEXTS = [Term("", "elysee"), Term("", "filltheend"), Term("url", "http://example.org/long")]


@pytest.mark.parametrize("query", LONG_TEXTS)
def test_a_snippet_begins_and_ends_at_words(archive: Engine, query: object) -> None:
    text = "".join(text for text, _ in snippet(archive, query)).replace("…", " ").strip()
    words = set(LONG.split())
    assert {text.split()[0], text.split()[-1]} <= words


@pytest.mark.parametrize("query", LONG_TEXTS)
def test_an_ellipsis_tells_that_the_text_goes_on(archive: Engine, query: object) -> None:
    text = "".join(text for text, _ in snippet(archive, query))
    shown = text.removeprefix("… ").removesuffix(" …")
    assert shown in " ".join(LONG.split())
    assert text.startswith("… ") is not LONG.startswith(shown)
    assert text.endswith(" …") is not LONG.endswith(shown)


def test_a_document_without_text_has_no_snippet(archive: Engine) -> None:
    assert snippet(archive, Term("url", "http://example.org/empty")) == ()


def test_snippets_are_left_out_on_request(archive: Engine) -> None:
    found = search(archive, Term("", "elysee"), snippets=False)
    assert [hit.snippet for hit in found.hits] == [()]
