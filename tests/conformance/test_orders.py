"""Results are ordered by score, or by all dates of a document."""

from pytest import approx

from nwx.engine.base import Engine
from nwx.model import Collapse, Sort
from nwx.query.question import Question
from nwx.query.tree import All, Bool, Boost, Term
from tests.conformance.archive import also, batch, page
from tests.conformance.asking import names, search

NEW_ARCHIVES = True
"""Deleted entries would count in the statistics tested here."""

A = page("http://example.org/a", "2010", "apple apple apple", title="Apple")
B = page("http://example.org/b", "2011", "pear and one apple among many other fruits of the garden")
C = page("http://example.org/c", "2012", "cherry")
D = page("http://example.org/d", "2009", "date")
BATCHES = [batch([A, B, C, D], [also(B, "2005"), also(A, "2015"), also(D, "2012")])]


def test_oldest_first(archive: Engine) -> None:
    assert names(search(archive, All(), sort=Sort.OLDEST)) == ["b", "d", "a", "c"]


def test_newest_first(archive: Engine) -> None:
    newest = names(search(archive, All(), sort=Sort.NEWEST))
    assert newest[0] == "a"
    assert set(newest[1:3]) == {"c", "d"}
    assert newest[3] == "b"


def test_pages_of_an_order_fit_together(archive: Engine) -> None:
    for sort in Sort:
        whole = names(search(archive, All(), sort=sort))
        pages = [search(archive, All(), sort=sort, offset=n, limit=1) for n in range(4)]
        assert [name for one in pages for name in names(one)] == whole
        assert {one.total.value for one in pages} == {4}


def test_equal_dates_are_in_the_order_of_ids(archive: Engine) -> None:
    hits = search(archive, All(), sort=Sort.NEWEST).hits[1:3]
    assert [hit.id for hit in hits] == sorted(hit.id for hit in hits)


def test_the_better_match_comes_first(archive: Engine) -> None:
    found = search(archive, Term("", "apple"))
    assert names(found) == ["a", "b"]
    assert found.hits[0].score > found.hits[1].score > 0


def test_pages_come_before_files_and_errors(engine: Engine) -> None:
    often = "lamp lamp lamp"
    missing = page("http://example.org/lamp/404", "2010", often, status=404)
    picture = page("http://example.org/lamp.svg", "2011", often, content_type="image/svg+xml")
    long = page("http://example.org/story", "2012", "a lamp among many other words of a story")
    engine.write(batch([missing, picture, long]))
    engine.refresh()
    lamp = Term("", "lamp")
    found = search(engine, lamp)
    assert names(found)[0] == "story"
    assert set(names(found)) == {"story", "404", "lamp.svg"}
    alike = search(engine, lamp, sort=Sort.ALL_TYPES)
    assert names(alike)[2] == "story"
    assert [hit.score for hit in found.hits] == sorted((h.score for h in found.hits), reverse=True)
    for offset in range(3):
        part = search(engine, lamp, offset=offset, limit=1)
        assert names(part) == names(found)[offset : offset + 1]
    scores = {hit.id: hit.score for hit in engine.scroll(Question(lamp))}
    assert scores == approx({hit.id: hit.score for hit in found.hits})
    groups = {one: search(engine, Term("content_type_norm", one)) for one in ("pages", "files")}
    assert names(groups["pages"]) == ["story"]
    assert set(names(groups["files"])) == {"404", "lamp.svg"}


def test_an_url_is_listed_once_with_its_page_first(engine: Engine) -> None:
    gone = page("http://example.org/x", "2014", "lamp lamp lamp", status=404)
    there = page("http://example.org/x", "2010", "one lamp among other words")
    engine.write(batch([gone, there]))
    engine.refresh()
    found = search(engine, Term("", "lamp"), collapse=Collapse.URL)
    assert [hit.id for hit in found.hits] == [there.capture.document_id]
    assert found.hits[0].versions == 2


def test_pages_come_first_where_nothing_is_scored(engine: Engine) -> None:
    seen_again = page("http://example.org/again", "2009", "one")
    later = page("http://example.org/later", "2012", "two")
    style = page("http://example.org/style.css", "2014", "three", content_type="text/css")
    gone = page("http://example.org/x", "2015", "four", status=404)
    there = page("http://example.org/x", "2011", "five")
    engine.write(batch([seen_again, later, style, gone, there], [also(seen_again, "2013")]))
    engine.refresh()
    found = search(engine, All(), collapse=Collapse.URL)
    assert names(found) == ["again", "later", "x", "style.css"]
    assert found.hits[2].id == there.capture.document_id
    for offset in range(4):
        part = search(engine, All(), collapse=Collapse.URL, offset=offset, limit=1)
        assert names(part) == names(found)[offset : offset + 1]
    every = search(engine, All())
    assert names(every) == ["again", "later", "x", "x", "style.css"]
    scores = {hit.id: hit.score for hit in engine.scroll(Question(All()))}
    assert scores == approx({hit.id: hit.score for hit in every.hits})
    alike = search(engine, All(), sort=Sort.ALL_TYPES)
    assert names(alike) == names(search(engine, All(), sort=Sort.NEWEST))


def test_a_boost_puts_forward(archive: Engine) -> None:
    either = Bool(should=(Boost(Term("content", "cherry"), 9.0), Term("content", "date")))
    other = Bool(should=(Term("content", "cherry"), Boost(Term("content", "date"), 9.0)))
    assert names(search(archive, either)) == ["c", "d"]
    assert names(search(archive, other)) == ["d", "c"]


def test_equal_scores_are_newest_first(archive: Engine) -> None:
    same = search(archive, Term("content_type_norm", "html"))
    assert len({hit.score for hit in same.hits}) == 1
    assert names(same)[0] == "a"
    assert names(same)[3] == "b"
    assert names(same) == names(search(archive, All(), sort=Sort.NEWEST))


def test_an_order_folds_to_its_first_version(engine: Engine) -> None:
    old = page("http://example.org/x", "2010", "first")
    new = page("http://example.org/x", "2012", "second")
    other = page("http://example.org/y", "2011", "third")
    engine.write(batch([old, new, other], [also(old, "2013"), also(new, "2009")]))
    engine.refresh()
    newest = search(engine, All(), sort=Sort.NEWEST, collapse=Collapse.URL)
    assert [hit.id for hit in newest.hits] == [old.capture.document_id, other.capture.document_id]
    oldest = search(engine, All(), sort=Sort.OLDEST, collapse=Collapse.URL)
    assert [hit.id for hit in oldest.hits] == [new.capture.document_id, other.capture.document_id]
    assert [hit.versions for hit in oldest.hits] == [2, 1]
