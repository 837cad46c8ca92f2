"""What captures say of many URLs is what they say of each."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nwx.cdxserver.url_columns import url_columns
from nwx.errors import UrlError
from nwx.values.urlkeys import urlkey
from nwx.values.urls import url_parts

ODD = [
    *("http://a.example", "https://www.A.example/", "http://www2.a.example//b", "http://www.com/A"),
    *("http://a.example:8080/b/", "http://1.2.3.4/a", "http://a.example/%7eb?c=1&a=2", "http:///"),
    *("http://[::1", "http://a_b.example/.a/", "http://a.example/x/../y", "http://u@a.example/@"),
    *("http://www.a/b;c", "http://a.example/?sid=1", "http://a.example/b/?", "http://a.b./c"),
]
"""URLs of printable ASCII, as those of lines are."""


def _check(urls: list[str]) -> None:
    found = list(zip(*url_columns(urls), strict=True))
    assert found == [(_key(url), *url_parts(url)) for url in urls]


def _key(url: str) -> str:
    try:
        return urlkey(url)
    except UrlError:
        return ""


@pytest.mark.parametrize("url", ODD)
def test_odd_urls(url: str) -> None:
    _check([url])


@settings(deadline=None)
@given(st.lists(st.sampled_from(ODD), min_size=1))
def test_urls_together(urls: list[str]) -> None:
    _check(urls)


@settings(deadline=None)
@given(
    st.tuples(
        st.sampled_from(["http", "https"]),
        st.from_regex(r"(?:www\d?\.)?[a-zA-Z0-9_.:@-]{1,12}", fullmatch=True),
        st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=12),
    )
)
def test_any_url(parts: tuple[str, str, str]) -> None:
    scheme, host, path = parts
    _check([f"{scheme}://{host}/{path}", f"{scheme}://{host}{path}"])
