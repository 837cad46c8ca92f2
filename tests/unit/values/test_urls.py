"""URLs of records, their parts and their keys."""

import socket

import pytest

from nwx.errors import UrlError
from nwx.values.urlkeys import urlkey
from nwx.values.urls import (
    EMBEDDED,
    KINDS,
    MAX_URL_CHARACTERS,
    UrlParts,
    asked_host,
    clean_url,
    domain_of_host,
    head_of_host,
    host_of_site,
    host_of_urlkey,
    host_parts,
    host_with_port,
    present_kind,
    url_parts,
)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (b"http://example.org/", "http://example.org/"),
        (b" <http://example.org/a>\r", "http://example.org/a"),
        (b"http://example.org/a b", "http://example.org/a%20b"),
        (b"http://example.org/a\x00\x01\nb\x7f", "http://example.org/a%00%01%0Ab%7F"),
        ("http://example.org/ä".encode(), "http://example.org/ä"),
        (b"http://example.org/\xe4\xff", "http://example.org/äÿ"),
        ("http://example.org/\ud800", "http://example.org/%ED%A0%80"),
    ],
)
def test_urls_are_cleaned_to_fit_a_field(raw: bytes | str, expected: str) -> None:
    assert clean_url(raw) == expected


@pytest.mark.parametrize("raw", [b"", b"  ", b"<>", b"http://a/" + b"x" * MAX_URL_CHARACTERS])
def test_no_url_or_an_endless_one_is_an_error(raw: bytes) -> None:
    with pytest.raises(UrlError) as caught:
        clean_url(raw)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.parliament.uk/x", UrlParts("www.parliament.uk", "parliament.uk", "uk")),
        (
            "HTTPS://User:pw@News.BBC.co.uk:8080/?a@b",
            UrlParts("news.bbc.co.uk", "bbc.co.uk", "co.uk"),
        ),
        ("http://a.example.org.", UrlParts("a.example.org", "example.org", "org")),
        ("dns:www.archive.org", UrlParts("www.archive.org", "archive.org", "org")),
        ("http://bücher.example.de/", UrlParts("xn--bcher-kva.example.de", "example.de", "de")),
        (
            "http://www.a.áltá.no/",
            UrlParts("www.a.xn--lt-liac.no", "a.xn--lt-liac.no", "xn--lt-liac.no"),
        ),
        ("http://127.0.0.1/", UrlParts("127.0.0.1", "127.0.0.1", "")),
        ("http://[2001:db8::1]:80/", UrlParts("[2001:db8::1]", "[2001:db8::1]", "")),
        ("http://co.uk/", UrlParts("co.uk", "co.uk", "co.uk")),
        ("http://localhost/", UrlParts("localhost", "localhost", "localhost")),
        ("urn:pageinfo:http://a.org/", UrlParts("", "", "")),
        ("http:///nowhere", UrlParts("nowhere", "nowhere", "nowhere")),
        ("http://", UrlParts("", "", "")),
        ("", UrlParts("", "", "")),
    ],
)
def test_a_url_has_a_host_a_domain_and_a_suffix(url: str, expected: UrlParts) -> None:
    assert url_parts(url) == expected


@pytest.mark.parametrize("host", ["a..b", "a b.org", "-.org", "x" * 5000, "ü" * 300, "%41.org"])
def test_nonsense_for_a_host_has_no_domain(host: str) -> None:
    place = host_parts(host)
    assert (place.domain, place.public_suffix) == ("", "")
    assert len(place.host) <= 255


def test_a_site_is_known_without_www_and_in_any_spelling() -> None:
    assert host_of_site("WWW.Exämple.org.") == host_of_site("exämple.org") == "xn--exmple-cua.org"
    assert host_of_site("http://www.example.org/a?b") == "example.org"


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.example.org/", "org,example)/"),
        ("https://WWW2.Example.org/A/B/?b=2&A=1", "org,example)/a/b?a=1&b=2"),
        ("http://example.org:80/a//b/", "org,example)/a/b"),
        ("https://example.org:8443/", "org,example:8443)/"),
        ("http://example.org/?", "org,example)/"),
        ("http://example.org/x?PHPSESSID=" + "a" * 32 + "&b=1", "org,example)/x?b=1"),
        ("http://example.org/%E4%20x", "org,example)/%e4%20x"),
        ("http://example.org/x?q=%C3%A4%41%26b", "org,example)/x?b&q=%c3%a4a"),
        ("http://127.0.0.1/a", "1,0,0,127)/a"),
        ("dns:www.example.org", "dns:www.example.org"),
        ("urn:uuid:1", "urn:uuid:1"),
    ],
)
def test_a_urlkey_is_that_of_the_surt_package(url: str, expected: str) -> None:
    assert urlkey(url) == expected


def test_no_host_in_digits_is_looked_up_in_the_dns(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(host: str) -> tuple[str, list[str], list[str]]:
        raise AssertionError(f"asked for {host}")

    monkeypatch.setattr(socket, "gethostbyname_ex", never)
    assert urlkey("http://999.999.999.999/x") == "999,999,999,999)/x"
    assert urlkey("http://1.2.3/x") == "3,0,2,1)/x"
    assert urlkey("http://%31.2.3.999/x") == "999,3,2,1)/x"
    assert urlkey("http://010.1.1.1/x") == "1,1,1,8)/x"


def test_a_url_escaped_without_end_is_refused_and_not_worked_on() -> None:
    with pytest.raises(UrlError):
        urlkey("http://example.org/%" + "25" * 5000)


def test_a_url_without_sense_is_an_error() -> None:
    with pytest.raises(UrlError):
        urlkey("http://example.org:99999999/")


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
        ("http://[2001:db8::1]/", "[2001:db8::1]"),
        ("http://[::1]:81/", "[::1:81]"),  # the urlkey does not separate the port
    ],
)
def test_host_of_urlkey(url: str, host: str) -> None:
    assert host_of_urlkey(urlkey(url)) == host


def test_domain_of_host() -> None:
    assert domain_of_host("a.b.example.co.uk") == "example.co.uk"
    assert domain_of_host("192.0.2.7") == "192.0.2.7"
    assert domain_of_host("") == ""


def test_head_of_host_begins_its_urlkeys() -> None:
    for host in ("a.example.org", "[2001:db8::1]"):
        assert urlkey(f"http://{host}/").startswith(head_of_host(host) + ")")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://A.example/x:81", "a.example"),
        ("http://a.example:80/", "a.example"),
        ("https://a.example:443", "a.example"),
        ("https://a.example:80/", "a.example:80"),
        ("http://me:pw@a.example:08080?q", "a.example:8080"),
        ("http://[2001:db8::1]:81/", "[2001:db8::1]:81"),
        ("http://a.example:/", "a.example"),
        ("dns:a.example", "a.example"),
        ("urn:x", ""),
    ],
)
def test_a_host_has_its_port_unless_it_is_the_usual_one(url: str, expected: str) -> None:
    assert host_with_port(url) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("Example.org:80", "example.org"),
        ("example.org:8080", "example.org:8080"),
        ("[::1]:81", "[::1]:81"),
    ],
)
def test_hosts_that_are_asked_for(text: str, expected: str) -> None:
    assert asked_host(text) == expected
