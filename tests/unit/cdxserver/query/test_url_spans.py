"""The stretch of an index that a URL selects."""

import pytest

from nwx.cdxserver.query.model import MatchType
from nwx.cdxserver.query.url_spans import expanded, key_after, span_of, urlkey_of
from nwx.errors import CdxQueryError


@pytest.mark.parametrize(
    ("url", "bare", "match"),
    [
        ("*.example.org", "example.org", MatchType.DOMAIN),
        ("example.org/a*", "example.org/a", MatchType.PREFIX),
        ("example.org/a", "example.org/a", MatchType.EXACT),
    ],
)
def test_wildcards(url: str, bare: str, match: MatchType) -> None:
    assert expanded(url, None) == (bare, match)
    assert expanded(url, MatchType.EXACT) == (url, MatchType.EXACT)


@pytest.mark.parametrize(
    ("match", "inside", "outside"),
    [
        (MatchType.EXACT, ["org,example)/a 2010 "], ["org,example)/ab 2010 "]),
        (
            MatchType.PREFIX,
            ["org,example)/a 2010 ", "org,example)/ab 2010 "],
            ["org,example)/b 1 "],
        ),
        (MatchType.HOST, ["org,example)/ 1 ", "org,example)/z 1 "], ["org,example,www)/ 1 "]),
        (
            MatchType.DOMAIN,
            ["org,example)/z 1 ", "org,example,www)/ 1 "],
            ["org,examples)/ 1 ", "org,example-two)/ 1 "],
        ),
    ],
)
def test_a_span_holds_what_matches(match: MatchType, inside: list[str], outside: list[str]) -> None:
    span = span_of("http://example.org/a", match, "org,example)/a")
    assert [span.start <= line < span.end for line in inside] == [True] * len(inside)
    assert [span.start <= line < span.end for line in outside] == [False] * len(outside)


@pytest.mark.parametrize("url", ["http://", "http:///"])
def test_a_url_without_an_address_is_an_error(url: str) -> None:
    with pytest.raises(CdxQueryError):
        urlkey_of(url)


@pytest.mark.parametrize("prefix", ["a", "a\ud7ff", "\U0010ffffa", "a\U0010ffff"])
def test_key_after_is_beyond_all_that_begin_so(prefix: str) -> None:
    after = key_after(prefix)
    assert after.encode() > (prefix + "\U0010ffff").encode()[: len(prefix.encode()) + 1]
    assert not after.startswith(prefix)
