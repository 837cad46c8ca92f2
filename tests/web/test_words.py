"""Numbers, dates and addresses in readable form."""

import pytest

from nwx.model import Total
from webapp.site import words


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1_000, "1 kB"),
        (1_550, "1.55 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (2_147_483_648, "2.15 GB"),
        (10**16, "10,000 TB"),
        (None, "unknown"),
    ],
)
def test_sizes(length: int | None, text: str) -> None:
    assert words.size(length) == text


def test_counts() -> None:
    assert words.grouped(1_234_567) == "1,234,567"
    assert words.total_words(Total(12)) == "12"
    assert words.total_words(Total(10_000, "gte")) == "at least 10,000"


def test_dates() -> None:
    assert words.date("20140126200624") == "26 Jan 2014"
    assert words.moment("20140126200624") == "26 Jan 2014, 20:06:24 UTC"
    assert words.clock("20140126200624") == "20:06:24"
    assert words.iso("20140126200624") == "2014-01-26T20:06:24Z"


@pytest.mark.parametrize("name", ["date", "moment", "clock"])
def test_a_damaged_date_stays_as_it_is(name: str) -> None:
    assert getattr(words, name)("20149926") == "20149926"
    assert words.iso("20149926") == ""


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        "JaVaScRiPt://x/%0aalert(1)",
        "data:text/html,<script>",
        "vbscript:x",
        "file:///etc/passwd",
        "//nowhere.example/",
        "http:",
        "http://[broken",
        "\x01javascript:alert(1)",
        "",
    ],
)
def test_addresses_that_are_no_links(url: str) -> None:
    assert words.safe_url(url) == ""


@pytest.mark.parametrize("url", ["http://a.example/", "HTTPS://a.example/?q=1", "ftp://a.example/"])
def test_addresses_that_are_links(url: str) -> None:
    assert words.safe_url(f" {url} ") == url


def test_long_addresses_keep_both_ends() -> None:
    shown = words.shown_url("http://a.example/" + "x" * 500 + "/end.html")
    assert len(shown) == words.MAX_SHOWN_URL
    assert shown.startswith("a.example/x")
    assert shown.endswith("x/end.html")


def test_languages() -> None:
    assert words.language("de") == "German"
    assert words.language("xx") == "xx"
