"""Scores under access rules equal those of an archive in which nothing hidden was analysed."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.access.restricted_engine import RestrictedEngine
from nwx.engine.access.rules import Scope
from nwx.engine.base import Engine
from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.engine.indices.crawl_queue import UrlUpdate
from nwx.model import IndexName
from tests.unit.access.archives import HIDDEN, PAGES, SHOWN, archive_of_pages, hiding

BOTH, LESS, ALONE = (f"http://linked.test/{name}" for name in ("both", "less", "alone"))
LINKS = {
    f"{SHOWN}1": {BOTH: 0.25, LESS: 0.75, f"{HIDDEN}1": 0.875, f"{HIDDEN}never": 0.5},
    f"{SHOWN}2": {BOTH: 0.125},
    f"{HIDDEN}1": {BOTH: 0.5, LESS: 0.25, ALONE: 1.0},
    f"{HIDDEN}2": {BOTH: None, f"{SHOWN}2": 0.625},
}


def score(url: str, links: dict[str, float | None]) -> DocumentScore:
    held = PAGES[url].capture
    made = tuple(LinkScore(to, relevance, "content") for to, relevance in links.items())
    return DocumentScore(
        "votes", "v1", held.document_id, url, held.timestamp, len(url) / 100, links=made
    )


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[Engine]:
    """An archive with all scores, as restricted by rules."""
    with archive_of_pages(tmp_path / "all") as engine:
        engine.crawl_index().put_scores([score(url, links) for url, links in LINKS.items()])
        yield RestrictedEngine(engine, hiding())


@pytest.fixture
def without(tmp_path: Path) -> Iterator[Engine]:
    """An archive with the scores of visible pages, and of links to visible URLs."""
    visible = {
        url: {to: relevance for to, relevance in links.items() if not to.startswith(HIDDEN)}
        for url, links in LINKS.items()
        if not url.startswith(HIDDEN)
    }
    with archive_of_pages(tmp_path / "less") as engine:
        engine.crawl_index().put_scores([score(url, links) for url, links in visible.items()])
        yield engine


def test_scores_are_as_if_nothing_hidden_had_been_analysed(shown: Engine, without: Engine) -> None:
    found, expected = shown.crawl_index(), without.crawl_index()
    for version in ("", "v1"):
        assert list(found.document_scores("votes", version)) == list(
            expected.document_scores("votes", version)
        )
        assert sorted(found.score_values("votes", version)) == sorted(
            expected.score_values("votes", version)
        )
        for limit, offset, host in ((10, 0, ""), (1, 1, ""), (10, 0, "linked.test")):
            assert found.best_links("votes", limit, offset, host, version) == expected.best_links(
                "votes", limit, offset, host, version
            )
    urls = [BOTH, LESS, ALONE, f"{SHOWN}2", f"{HIDDEN}1"]
    assert found.relevances("votes", "v1", urls) == expected.relevances("votes", "v1", urls)
    assert found.analysed_versions("votes") == expected.analysed_versions("votes")
    ids = [one.capture.document_id for one in PAGES.values()]
    assert found.analysed("votes", "v1", ids) == expected.analysed("votes", "v1", ids)
    assert list(shown.scan(IndexName.CRAWLS)) == list(without.scan(IndexName.CRAWLS))
    assert shown.count(IndexName.CRAWLS) == without.count(IndexName.CRAWLS)


def test_a_rule_without_effect_changes_no_score(tmp_path: Path) -> None:
    with archive_of_pages(tmp_path / "all") as engine:
        engine.crawl_index().put_scores([score(url, links) for url, links in LINKS.items()])
        found = RestrictedEngine(engine, hiding(scope=Scope(prefix="test,nowhere)/"))).crawl_index()
        assert found.best_links("votes", 10) == engine.crawl_index().best_links("votes", 10)
        assert found.analysed_versions("votes") == engine.crawl_index().analysed_versions("votes")


def test_hidden_urls_are_queued_but_not_listed(tmp_path: Path) -> None:
    with archive_of_pages(tmp_path / "archive") as engine:
        queue = RestrictedEngine(engine, hiding()).crawl_queue()
        queue.put(
            [
                UrlUpdate(f"{SHOWN}new", 0.5, via=f"{SHOWN}1", crawl="votes"),
                UrlUpdate("http://other.test/", 0.25, via=f"{HIDDEN}1", crawl="votes"),
                UrlUpdate(f"{HIDDEN}new", 1.0, crawl="votes"),
            ]
        )
        listed = [(one.url, one.via) for one in queue.scan("votes")]
        assert listed == [(f"{SHOWN}new", f"{SHOWN}1"), ("http://other.test/", "")]
        assert queue.counts().total == queue.counts("votes").waiting == 2
        assert engine.crawl_queue().counts().total == 3
        shown = RestrictedEngine(engine, hiding())
        entries = [one for one in shown.scan(IndexName.QUEUE) if "url" in one]
        assert {(one["url"], one.get("via", "")) for one in entries} == set(listed)
        leased = queue.lease(1)
        assert [one.url for one in leased] == [f"{HIDDEN}new"]
        assert queue.finish([one.lease for one in leased]) == 1
