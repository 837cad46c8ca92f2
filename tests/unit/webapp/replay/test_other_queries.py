"""Captures played for a URL without a capture of the same query string."""

from collections.abc import Iterator
from typing import Any

import pytest
from pywb.warcserver.index.cdxobject import CDXObject
from pywb.warcserver.index.query import CDXQuery

from nwx.values.urlkeys import urlkey
from webapp.replay.capture_lookup import MOST_ALIKE, OtherQueries


def capture(url: str, timestamp: str = "20200101000000", mime: str = "text/css") -> CDXObject:
    """Return a capture as an index returns it."""
    return CDXObject(f"{urlkey(url)} {timestamp} {url} {mime} 200 AAAA - - 1 0 a.warc.gz".encode())


@pytest.fixture(scope="module")
def matcher() -> OtherQueries:
    """The rules, which take time to load."""
    return OtherQueries()


class Index:
    """An index without exact matches that returns the same captures for all other queries."""

    def __init__(self, captures: list[CDXObject]) -> None:
        self.captures = captures
        self.asked: list[dict[str, Any]] = []

    def __call__(self, params: dict[str, Any]) -> tuple[Iterator[CDXObject], list[str]]:
        """Return the captures."""
        CDXQuery(params)
        self.asked.append(params)
        return iter([] if params["matchType"] == "exact" else self.captures), []


def played(matcher: OtherQueries, url: str, captures: list[CDXObject]) -> list[tuple[str, str]]:
    """Return query and timestamp of the captures chosen for a URL of 2020."""
    params = {"url": url, "matchType": "exact", "closest": "20200101000000"}
    found, _ = matcher(Index(captures), params)
    return [(one["url"].partition("?")[2], one["timestamp"]) for one in found]


def test_the_nearest_in_time_of_those_as_alike_comes_first(matcher: OtherQueries) -> None:
    base = "http://a.example/style.css"
    captures = [
        capture(f"{base}?v=1", "20010101000000"),
        capture(f"{base}?v=2", "20191231000000"),
        capture(f"{base}?theme=dark&v=1", "20050101000000"),
    ]
    assert played(matcher, f"{base}?v=3", captures)[0] == ("v=2", "20191231000000")
    assert played(matcher, f"{base}?theme=dark&v=3", captures)[0][0] == "theme=dark&v=1"


def test_no_page_stands_for_another(matcher: OtherQueries) -> None:
    base = "http://a.example/news.html"
    captures = [capture(f"{base}?article=3", mime="text/html")]
    assert played(matcher, f"{base}?article=17", captures) == []
    assert played(matcher, f"{base}?article=3&utm_source=x", captures) != []
    frames = [capture(f"{base}?ord=123456789", mime="text/html")]
    assert played(matcher, f"{base}?ord=987654321", frames) != []


def test_all_captures_that_the_index_gives_are_looked_at(matcher: OtherQueries) -> None:
    base = "http://a.example/far"
    captures = [capture(f"{base}?page={number}") for number in range(MOST_ALIKE - 1)]
    captures.append(capture(f"{base}?callback=jsonp_1&page=x"))
    assert played(matcher, f"{base}?callback=jsonp_2&page=x", captures) == [
        ("callback=jsonp_1&page=x", "20200101000000")
    ]


def test_nothing_is_looked_for_where_the_url_is_long(matcher: OtherQueries) -> None:
    index = Index([capture("http://a.example/style.css")])
    params = {"url": f"http://a.example/style.css?{'ts' * 5_000}", "matchType": "exact"}
    assert list(matcher(index, params)[0]) == []
    assert len(index.asked) == 1


def test_long_captures_are_not_gone_through(matcher: OtherQueries) -> None:
    long = f"http://a.example/far?{'ts' * 5_000}"
    assert played(matcher, "http://a.example/far?a=1", [capture(long)] * MOST_ALIKE) == []
