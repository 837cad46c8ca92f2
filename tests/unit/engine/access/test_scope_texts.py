"""Scopes as people write them."""

import pytest

from nwx.engine.access.rules import Scope
from nwx.engine.access.scope_texts import between, digest_scope, scope_of, scope_words
from nwx.errors import UsageError

DIGEST = "sha1:" + "A" * 32


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("http://www.Example.com/A/", Scope(prefix="com,example)/a", is_exact=True)),
        ("https://example.com/", Scope(prefix="com,example)/", is_exact=True)),
        ("example.com/a?b=1", Scope(prefix="com,example)/a?b=1", is_exact=True)),
        ("http://example.com/a*", Scope(prefix="com,example)/a")),
        ("http://example.com/a/*", Scope(prefix="com,example)/a/")),
        ("http://example.com/a?*", Scope(prefix="com,example)/a?")),
        ("http://example.com/*", Scope(prefix="com,example)/")),
        ("example.com", Scope(prefix="com,example)/")),
        ("example.com:80/a", Scope(prefix="com,example)/a", is_exact=True)),
        ("example.com:8080/a*", Scope(prefix="com,example:8080)/a")),
        ("localhost:80/", Scope(prefix="localhost)/", is_exact=True)),
        ("example.com:80", Scope(prefix="com,example)/")),
        ("intranet:80", Scope(prefix="intranet)/")),
        ("example.com:8080", Scope(prefix="com,example:8080)/")),
        ("Bücher.example", Scope(prefix="example,xn--bcher-kva)/")),
        ("192.0.2.7", Scope(prefix="7,2,0,192)/")),
        ("*.example.com", Scope(prefix="com,example")),
        ("*.example.com/*", Scope(prefix="com,example")),
        ("com,example", Scope(prefix="com,example")),
        ("com,", Scope(prefix="com,")),
        ("com,example)/a", Scope(prefix="com,example)/a")),
        ("com,example:8080)/a*", Scope(prefix="com,example:8080)/a")),
        ("com,example)/a###", Scope(prefix="com,example)/a", is_exact=True)),
        ("localhost)/a", Scope(prefix="localhost)/a")),
        ("dns:example.com", Scope(prefix="dns:example.com", is_exact=True)),
        (DIGEST, Scope(digest=DIGEST)),
        ("urn:sha1:" + "a" * 32, Scope(digest=DIGEST)),
        ("A" * 32, Scope(digest=DIGEST)),
        ("/data/crawl.warc.gz", Scope(source_file="crawl.warc.gz")),
        ("crawl.wacz", Scope(source_file="crawl.wacz")),
        ("http://a.com/c.warc.gz", Scope(prefix="com,a)/c.warc.gz", is_exact=True)),
        ("*", Scope()),
        ("*,", Scope()),
    ],
)  # fmt: skip
def test_what_a_text_names(text: str, scope: Scope) -> None:
    found = scope_of(text)
    assert Scope(found.url, *_parts(scope)) == found
    assert found.url


def _parts(scope: Scope) -> tuple[str, bool, str, str, str]:
    return (scope.prefix, scope.is_exact, scope.digest, scope.collection, scope.source_file)


@pytest.mark.parametrize("text", ["", "http://", "sha1:short", "%25" * 200, "x" * 20_000])
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        scope_of(text)


def test_a_scope_may_be_of_some_dates_only() -> None:
    assert between(Scope(), "2014", "2014-02") == Scope(
        date_from="20140101000000", date_to="20140228235959"
    )
    assert between(Scope(), "", "") == Scope()
    with pytest.raises(UsageError, match="is no date"):
        between(Scope(), "soon", "")


def test_digests_may_be_spelled_in_any_way() -> None:
    assert digest_scope("sha-1:" + "a" * 32).digest == DIGEST


def test_scopes_in_words() -> None:
    assert scope_words(Scope(url="*")) == "all captures"
    assert scope_words(Scope(prefix="com,a)/", is_exact=True)) == "URL com,a)/###"
    full = Scope(
        prefix="com,a)/", digest=DIGEST, collection="web", source_file="a.warc", date_to="2014"
    )
    words = f"prefix com,a)/, digest {DIGEST}, file a.warc, collection web, to 2014"
    assert scope_words(full) == words
