"""Limits of a specification."""

from collections.abc import Iterator
from dataclasses import replace
from typing import cast

import pytest

from nwx.engine.indices.crawl_index import AnalysedVersion, CrawlIndex, DocumentScore
from nwx.steering.score_writer import LinkLimits, link_depth
from nwx.steering.specifications.specification import Limits
from tests.hostile_analysis import STONES


class _Scored:
    """Scores of earlier runs: two pages of a host, at one version."""

    def __init__(self, version: str) -> None:
        self._version = version

    def document_scores(self, crawl: str, version: str = "") -> Iterator[DocumentScore]:
        assert version == self._version
        return (
            DocumentScore(crawl, version, str(n), f"http://a.example/{n}", "2015", 1)
            for n in range(2)
        )

    def analysed_versions(self, crawl: str) -> list[AnalysedVersion]:
        return [AnalysedVersion(self._version, 2, 5)]


def limits(wanted: Limits, version: str = STONES.version()) -> LinkLimits:
    return LinkLimits(replace(STONES, limits=wanted), cast(CrawlIndex, _Scored(version)))


@pytest.mark.parametrize(("hops", "depth"), [("", 0), ("LL", 2), ("LREPI", 1), ("XLS", 3)])
def test_only_links_lead_deeper(hops: str, depth: int) -> None:
    assert link_depth(hops) == depth


def test_a_depth() -> None:
    some = limits(Limits(depth=2))
    assert some.allow("http://a.example/", 2)
    assert not some.allow("http://a.example/", 3)


def test_pages_in_all() -> None:
    some = limits(Limits(pages=3))
    assert some.allow("http://b.example/", 1)
    some.count("http://b.example/")
    assert not some.allow("http://b.example/2", 1)


def test_pages_of_a_host() -> None:
    some = limits(Limits(pages_per_host=3))
    some.count("http://a.example/3")
    assert not some.allow("http://a.example/4", 1)
    assert some.allow("http://b.example/4", 1)


def test_no_limits() -> None:
    assert limits(Limits()).allow("http://a.example/", 1_000)


@pytest.mark.parametrize("wanted", [Limits(pages=3), Limits(pages_per_host=3)])
def test_pages_that_are_analysed_anew_count_once(wanted: Limits) -> None:
    some = limits(wanted, "older")
    for number in range(2):
        some.count(f"http://a.example/{number}")
    assert some.allow("http://a.example/2", 1)
    some.count("http://a.example/2")
    assert not some.allow("http://a.example/3", 1)


def test_pages_of_an_earlier_version_count() -> None:
    assert not limits(Limits(pages=2), "older").allow("http://b.example/", 1)
    assert not limits(Limits(pages_per_host=2), "older").allow("http://a.example/3", 1)
