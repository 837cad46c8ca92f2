"""Resources missing from the archive, compared with plain Python, on every engine."""

import random
from collections import defaultdict

import pytest

from nwx.engine.base import Engine
from nwx.links.archive_links import ArchiveLinks
from nwx.links.missing_urls import (
    MissingQuestion,
    MissingUrl,
    PageFilter,
    missing_urls,
    page_resources,
)
from nwx.model import Batch, Link
from nwx.values.urlkeys import urlkey
from nwx.values.urls import CSS, EMBEDDED, IMG, NAVIGATIONAL, STYLESHEET, A
from tests.conformance.archive import capture
from tests.conformance.engines import Opener
from tests.conformance.test_facets import cache
from tests.conformance.test_inlinks import build
from tests.links import page

ABOVE_ENGINES = True

__all__ = ["cache"]

EVERY_KIND = EMBEDDED | NAVIGATIONAL


def found(engine: Engine, question: MissingQuestion) -> list[MissingUrl]:
    return list(missing_urls(engine, ArchiveLinks(engine), question))


def random_pages(seed: int) -> tuple[list[Batch], set[str]]:
    """Return pages with links and captures of some targets, and urlkeys captured successfully."""
    chance = random.Random(seed)
    targets = [f"http://{host}/t{n}" for host in ("a.test", "b.test", "c.b.test") for n in range(9)]
    batches, well = [], set()
    for number in range(25):
        url = f"http://{chance.choice(('a.test', 'x.org', 'www.x.org'))}/p{number % 15}"
        links = [
            Link(chance.choice(targets), "t", chance.choice((A, IMG, CSS, "form")))
            for _ in range(chance.randrange(8))
        ]
        seen = [
            (f"{chance.randrange(2008, 2011)}{chance.randrange(1, 13):02}", chance.choice("pq"))
        ]
        batches.append(page(url, links, seen, body=str(number)))
        well.add(urlkey(url))
    for number, target in enumerate(targets[::2]):
        status = chance.choice((200, 302, None, 404, 503))
        one = capture(target, "2010", status=status, offset=10_000 + number)
        batches.append(Batch(captures=(one,)))
        if status is None or status < 400:
            well.add(one.urlkey)
    return batches, well


def needed(batches: list[Batch], question: MissingQuestion) -> dict[str, set[str]]:
    pages: dict[str, set[str]] = defaultdict(set)
    for batch in batches:
        for document in batch.documents:
            host = document.capture.host.removeprefix("www.")
            ((timestamp, collection),) = batch.dates[0].seen
            asked = question.pages
            if asked.site not in ("", host) or asked.collection not in ("", collection):
                continue
            if not asked.since <= timestamp <= (asked.until or "9"):
                continue
            for link in document.extract.links:
                if link.kind in question.kinds and link.url != document.capture.url:
                    pages[link.url].add(document.capture.urlkey)
    return pages


QUESTIONS = [
    MissingQuestion(),
    MissingQuestion(kinds=frozenset({IMG})),
    MissingQuestion(pages=PageFilter(site="x.org")),
    MissingQuestion(pages=PageFilter(site="x.org", collection="p")),
    MissingQuestion(pages=PageFilter(collection="q")),
    MissingQuestion(pages=PageFilter(since="20090301000000", until="20100201000000")),
    MissingQuestion(site="b.test"),
]


@pytest.mark.parametrize("seed", range(2))
def test_missing_urls_equal_a_brute_force(engine: Engine, open_archive: Opener, seed: int) -> None:
    batches, well = random_pages(seed)
    for batch in batches:
        engine.write(batch)
    build(engine, open_archive)
    for question in QUESTIONS:
        expected = {
            url: len(pages)
            for url, pages in needed(batches, question).items()
            if urlkey(url) not in well and (question.site in url)
        }
        answer = found(engine, question)
        assert {one.url: one.pages for one in answer} == expected
        assert [one.pages for one in answer] == sorted(expected.values(), reverse=True)


def test_urls_with_errors_alone_are_missing(engine: Engine, open_archive: Opener) -> None:
    engine.write(page("http://a.test/", [Link("http://a.test/x.png", "", IMG)]))
    failed = capture("http://www.a.test/x.png", "2011", status=404, offset=7)
    engine.write(Batch(captures=(failed,)))
    build(engine, open_archive)
    assert found(engine, MissingQuestion()) == [MissingUrl("http://a.test/x.png", IMG, 1, 404)]
    worked = capture("https://a.test/x.png", "2012", offset=8)
    engine.write(Batch(captures=(worked,)))
    engine.refresh()
    assert found(engine, MissingQuestion()) == []


def test_the_target_of_a_redirect_is_missing(engine: Engine, open_archive: Opener) -> None:
    moved = [Link(f"http://a.test/{name}.png", "", IMG) for name in ("old", "older", "found")]
    for number in range(3):
        engine.write(page(f"http://a.test/{number}", moved[: number + 1]))
    engine.write(page("http://a.test/itself", ["http://s.test/new.png", "http://a.test/gone"]))
    ways = {"old": "http://s.test/new.png", "older": "http://a.test/old.png"}
    for name, target in (ways | {"found": "http://s.test/there.png"}).items():
        one = capture(f"http://a.test/{name}.png", "2011", status=302, redirect_to=target)
        engine.write(Batch(captures=(one,)))
    engine.write(Batch(captures=(capture("http://s.test/there.png", "2011"),)))
    build(engine, open_archive)
    assert found(engine, MissingQuestion()) == [
        MissingUrl("http://s.test/new.png", IMG, 4, None),
        MissingUrl("http://a.test/gone", A, 1, None),
    ]
    assert found(engine, MissingQuestion(site="a.test")) == [
        MissingUrl("http://a.test/gone", A, 1, None)
    ]
    document = next(
        iter(
            engine.documents(
                [page("http://a.test/1", moved).documents[0].capture.document_id]
            ).values()
        )
    )
    resources = page_resources(engine, document)
    assert [one.url for one in resources.missing] == ["http://s.test/new.png"]


def test_pages_need_what_their_style_sheets_load(engine: Engine, open_archive: Opener) -> None:
    for number in range(5):
        sheet = Link("http://a.test/all.css", "", STYLESHEET)
        engine.write(page(f"http://a.test/{number}", [sheet], [(f"200{number}", "web")]))
    more = Link("http://a.test/more.css", "", STYLESHEET)
    engine.write(page("http://a.test/all.css", [more, Link("http://a.test/sky.png", "", CSS)]))
    round_about = Link("http://a.test/all.css", "", STYLESHEET)
    deep = Link("http://a.test/deep.png", "", CSS)
    engine.write(page("http://a.test/more.css", [deep, round_about]))
    engine.write(page("http://a.test/other", [deep._replace(kind=IMG)]))
    build(engine, open_archive)
    counts = {one.url: (one.kind, one.pages) for one in found(engine, MissingQuestion())}
    assert counts == {
        "http://a.test/sky.png": (CSS, 5),
        "http://a.test/deep.png": (IMG, 6),
    }
    some = MissingQuestion(pages=PageFilter(since="20010101000000", until="20031231235959"))
    assert {one.url: one.pages for one in found(engine, some)} == {
        "http://a.test/sky.png": 3,
        "http://a.test/deep.png": 3,
    }


def test_every_style_sheet_of_many_is_known(engine: Engine, open_archive: Opener) -> None:
    for number in range(25):
        site = f"http://{(number * 7) % 25}.test"
        sheet = Link(f"{site}/all.css", "", STYLESHEET)
        for place in ("a", "z"):
            engine.write(page(f"{site}/{place}", [sheet]))
        engine.write(page(f"{site}/all.css", [Link(f"{site}/sky.png", "", CSS)]))
        if number % 8 == 0:
            build(engine, open_archive)
    build(engine, open_archive)
    answer = found(engine, MissingQuestion())
    assert {one.url: one.pages for one in answer} == {
        f"http://{number}.test/sky.png": 2 for number in range(25)
    }


def test_spans_within_a_year_are_exact(engine: Engine, open_archive: Opener) -> None:
    seen = [("20100101", "web"), ("20101231", "web")]
    engine.write(page("http://a.test/", ["http://b.test/"], seen))
    build(engine, open_archive)
    within = PageFilter(since="20100201000000", until="20101130000000")
    assert found(engine, MissingQuestion(pages=within)) == []
    assert len(found(engine, MissingQuestion(pages=PageFilter(since="20101201000000")))) == 1
