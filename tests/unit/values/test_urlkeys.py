"""Urlkeys: the fast path equals the surt package."""

import pytest

from nwx.errors import UrlError
from nwx.values.surt_package import package_urlkey
from nwx.values.urlkeys import (
    body_query,
    method_prefix,
    urlkey,
    with_method_query,
    with_scheme,
)

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
    with pytest.raises(UrlError, match="escaped too many times"):
        urlkey("http://example.org/%" + "25" * 100)


MULTIPART = (
    b'--xyz\r\nContent-Disposition: form-data; name="a"\r\n\r\none two\r\n'
    b'--xyz\r\nContent-Disposition: form-data; name="f"; filename="x.bin"\r\n'
    b"Content-Type: application/octet-stream\r\n\r\n\x00\xff\r\n--xyz--\r\n"
)


@pytest.mark.parametrize(
    ("content_type", "body", "query"),
    [
        ("application/x-www-form-urlencoded", b"A=1&B=[]&C=%20+x", "A=1&B=[]&C=  x"),
        ("application/x-www-form-urlencoded; charset=utf-8", b"q=\xff", "__wb_post_data=cT3/"),
        ("application/json", b'{"a": 1, "b": [{"a": "x"}, {"c": null}]}', "a=1&a.2_=x&c=None"),
        ("application/json", b'{"a": 1}\n{"a": 2}', "a=1&a.2_=2"),
        ("application/json", b"no json", ""),
        ("text/plain", b'{"a": true}', "a=True"),
        ("text/plain", b"words", "__wb_post_data=d29yZHM="),
        ("", b"\x00\x01", "__wb_post_data=AAE="),
        ("multipart/form-data; boundary=xyz", MULTIPART, "a=one+two&f=%00%FF"),
        ("multipart/form-data", b"x", "__wb_post_data=eA=="),
    ],
)
def test_bodies_become_queries(content_type: str, body: bytes, query: str) -> None:
    assert body_query(content_type, body) == query


def test_a_long_body_is_cut() -> None:
    assert len(body_query("", b"x" * 100_000)) == 4096


def test_json_nested_without_end_is_no_crash() -> None:
    assert body_query("application/json", b"[" * 100_000) == ""


@pytest.mark.parametrize(
    ("url", "method", "body", "key"),
    [
        ("http://a.org/p", "POST", b"B=2&A=1", "org,a)/p?__wb_method=post&a=1&b=2"),
        ("http://a.org/p?x=1", "PUT", b"", "org,a)/p?__wb_method=put&x=1"),
    ],
)
def test_the_key_holds_method_and_body(url: str, method: str, body: bytes, key: str) -> None:
    form = "application/x-www-form-urlencoded"
    assert urlkey(with_method_query(url, method, form, body)) == key


@pytest.mark.parametrize(
    ("url", "body"),
    [
        ("http://a.org/p", b"a=1"),
        ("http://a.org/p?x=1&0=2", b"z=1&a=2"),
        ("http://a.org/", b""),
        ("http://a.org/p?Z=%5F", b"b=1"),
    ],
)
def test_the_prefix_of_a_url_begins_the_keys_of_its_posts(url: str, body: bytes) -> None:
    form = "application/x-www-form-urlencoded"
    key = urlkey(with_method_query(url, "POST", form, body))
    assert key.startswith(method_prefix(urlkey(url)))
    assert not urlkey(url).startswith(method_prefix(urlkey(url)))


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("example.org:80", "http://example.org:80"),
        ("www.example.org:443/a?b", "http://www.example.org:443/a?b"),
        ("localhost:8080", "http://localhost:8080"),
        ("example.org/a:80", "example.org/a:80"),
        ("tel:12345", "tel:12345"),
        ("http://example.org:80", "http://example.org:80"),
    ],
)
def test_a_host_and_its_port_are_no_scheme(typed: str, url: str) -> None:
    assert with_scheme(typed) == url
