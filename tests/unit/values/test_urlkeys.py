"""Urlkeys: the fast path equals the surt package."""

import pytest

from nwx.errors import UrlError
from nwx.values.surt_package import package_urlkey
from nwx.values.urlkeys import urlkey

URLS = [
    ("http://www.example.org/", "org,example)/"),
    ("http://example.org", "org,example)/"),
    ("https://WWW2.Example.ORG:443/A//B/?b=2&a=1", "org,example)/a/b?a=1&b=2"),
    ("http://example.org:8080/x/", "org,example:8080)/x"),
    ("http://example.org/%7Euser", "org,example)/~user"),
    ("http://example.org/?", "org,example)/"),
    ("dns:www.archive.org", "dns:www.archive.org"),
    ("http://127.0.0.1/a", "1,0,0,127)/a"),
    ("http://example.org/a/../b", "org,example)/b"),
]


@pytest.mark.parametrize(("url", "key"), URLS)
def test_urlkey(url: str, key: str) -> None:
    assert urlkey(url) == key


@pytest.mark.parametrize("url", [url for url, _ in URLS if not url.startswith("dns:")])
def test_the_fast_path_gives_what_the_package_gives(url: str) -> None:
    assert urlkey(url) == package_urlkey(url)


def test_a_url_escaped_again_and_again_is_refused() -> None:
    with pytest.raises(UrlError, match="escaped many times"):
        urlkey("http://example.org/%" + "25" * 100)
