"""Links under access rules equal those of an archive that never had the hidden captures."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from nwx.access.restricted_engine import RestrictedEngine
from nwx.engine.access.decisions import AccessRules, Decisions
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.base import Engine
from nwx.links.archive_links import ArchiveLinks, asked_place, outlinks_of
from nwx.links.missing_urls import MissingQuestion, missing_urls
from nwx.model import Batch, Dates, Document, IndexName, LinkCell, Sort
from nwx.query.question import Question
from nwx.values.urlkeys import urlkey
from tests.conformance.archive import capture
from tests.conformance.engines import Opener
from tests.conformance.test_facets import cache
from tests.conformance.test_inlinks import build
from tests.links import brute_force, page, random_batches

ABOVE_ENGINES = True

__all__ = ["cache"]

HOST = Scope(prefix="test,b)/")
URL = Scope(prefix="org,example)/1", is_exact=True)
YEARS = Scope(date_from="20080101000000", date_to="20091231235959")
SCOPES = {"host": HOST, "url": URL, "years": YEARS, "collection": Scope(collection="q")}


def decisions_of(*scopes: Scope, action: Action = Action.EXCLUDE) -> Decisions:
    rules = [AccessRule(f"{number}", action, scope) for number, scope in enumerate(scopes)]
    return AccessRules(rules, "1").for_viewer(EVERYBODY)


def with_all_captures(batch: Batch) -> Batch:
    """Return the batch with a capture for each date of its page."""
    (held,), (dates,) = batch.captures, batch.dates
    found = tuple(
        capture(held.url, time, digest=held.digest, collection=name) for time, name in dates.seen
    )
    return replace(batch, captures=found)


def visible(
    batches: list[Batch], hides: Callable[[str, str, str], bool], leads: Callable[[str], bool]
) -> Iterator[tuple[Document, Dates]]:
    """Yield documents and links as visible under rules on URL, time and collection."""
    for batch in batches:
        (document,), (dates,) = batch.documents, batch.dates
        seen = tuple(one for one in dates.seen if not hides(document.capture.urlkey, *one))
        if seen:
            links = tuple(one for one in document.extract.links if not leads(urlkey(one.url)))
            yield (
                replace(document, extract=replace(document.extract, links=links)),
                Dates(dates.key, seen),
            )


@pytest.mark.parametrize("name", SCOPES)
def test_visible_links_are_those_of_an_archive_without_what_is_hidden(
    engine: Engine, open_archive: Opener, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    batches = [with_all_captures(one) for one in random_batches(seed=7)]
    for batch in batches:
        engine.write(batch)
    build(engine, open_archive)
    decisions = decisions_of(SCOPES[name])

    def hides(key: str, timestamp: str, collection: str) -> bool:
        return decisions.hides_values(key, "", "", collection, "", timestamp)

    captured: dict[str, list[bool]] = {}
    for batch in batches:
        for one in batch.captures:
            hidden = hides(one.urlkey, one.timestamp, one.collection)
            captured.setdefault(one.urlkey, []).append(hidden)

    def leads(key: str) -> bool:
        return all(captured.get(key, [hides(key, "", "")]))

    expected = brute_force(visible(batches, hides, leads))
    shown = RestrictedEngine(engine, decisions)
    links = ArchiveLinks(shown)
    assert {row.target for row in links.rows()} == {target for target, _ in expected}
    for (target, cell), (counts, listed) in expected.items():
        assert links.counts(target, cell) == counts, (target, cell)
        assert [one._replace(url="") for one in links.inlinks(target, cell)] == listed
    entries = list(shown.scan(IndexName.INLINKS))
    counted = {key for key, (counts, _) in expected.items() if counts.documents}
    monkeypatch.setattr(
        "nwx.engine.inlinks.link_entries.inlink_entry", None
    )  # counting creates none
    assert len(entries) == len(counted) == shown.count(IndexName.INLINKS)
    whole = set(ArchiveLinks(engine).host_graph().hosts)
    assert set(links.host_graph().hosts) <= whole
    assert name != "host" or "b.test" not in links.host_graph().hosts


def test_links_to_hidden_urls_are_neither_outlinks_nor_missing(
    engine: Engine, open_archive: Opener
) -> None:
    for batch in (
        page("http://a.test/", ["http://b.test/captured", "http://b.test/never", "http://c.test/"]),
        page("http://b.test/captured", ["http://d.test/"]),
    ):
        engine.write(batch)
    build(engine, open_archive)
    shown = RestrictedEngine(engine, decisions_of(HOST, action=Action.BLOCK))
    place = asked_place("http://a.test/")
    assert [one.url for one in outlinks_of(shown, place, LinkCell())] == ["http://c.test/"]
    missing = missing_urls(shown, ArchiveLinks(shown), MissingQuestion())
    assert [one.url for one in missing] == ["http://c.test/"]
    assert {one.url for one in missing_urls(engine, ArchiveLinks(engine), MissingQuestion())} == {
        "http://b.test/never",
        "http://c.test/",
        "http://d.test/",
    }


def test_searches_count_and_read_only_the_links_of_visible_pages(
    engine: Engine, open_archive: Opener
) -> None:
    for batch in (
        page("http://a.test/", [("http://c.test/", "lantern")]),
        page("http://b.test/", [("http://c.test/", "planted"), ("http://a.test/", "home")]),
        page("http://c.test/", []),
    ):
        engine.write(batch)
    build(engine, open_archive)
    shown = RestrictedEngine(engine, decisions_of(HOST))

    def found(archive: Engine, query: str, sort: Sort = Sort.RELEVANCE) -> list[str]:
        return [hit.url for hit in archive.search(Question(query, sort=sort)).hits]

    for query in ("planted", "anchor:planted", "inlinks:2", "linking_hosts:2"):
        assert found(engine, query) == ["http://c.test/"]
        assert found(shown, query) == []
    assert found(shown, "lantern") == found(shown, "inlinks:1") == ["http://c.test/"]
    assert found(shown, "inlinks:0") == ["http://a.test/"]
    assert found(shown, "*", Sort.INLINKS) == ["http://c.test/", "http://a.test/"]
    assert found(engine, "planted") == ["http://c.test/"], "others see all links still"
