"""Kinds of links."""

import pytest

from nwx.values.links import (
    EMBEDDED,
    KINDS,
    domain_of_host,
    head_of_host,
    host_of_urlkey,
    present_kind,
)
from nwx.values.urlkeys import urlkey


def test_kinds_of_older_archives_are_those_of_now() -> None:
    assert [present_kind(kind) for kind in ("iframe", "source", "body", "meta", "a")] == [
        "frame",
        "media",
        "img",
        "refresh",
        "a",
    ]
    assert all(present_kind(kind) == kind for kind in KINDS)


def test_pages_are_not_embedded() -> None:
    assert not {"a", "area", "form", "refresh", "canonical", "alternate", "link"} & EMBEDDED


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://example.org/a", "example.org"),
        ("http://www.example.org/a", "example.org"),
        ("https://Sub.Example.org:8443/a(b)", "sub.example.org"),
        ("http://192.0.2.7/", "192.0.2.7"),
        ("ftp://files.example.org/", "files.example.org"),
        ("http://mhtml:d.example.org/", "mhtml"),
    ],
)
def test_host_of_urlkey(url: str, host: str) -> None:
    assert host_of_urlkey(urlkey(url)) == host


def test_domain_of_host() -> None:
    assert domain_of_host("a.b.example.co.uk") == "example.co.uk"
    assert domain_of_host("192.0.2.7") == "192.0.2.7"
    assert domain_of_host("") == ""


def test_head_of_host_begins_its_urlkeys() -> None:
    assert urlkey("http://a.example.org/").startswith(head_of_host("a.example.org") + ")")
