"""Enrichers: their evidence by precedence, and hostile payloads."""

import time

import pytest

from nwx.errors import UsageError
from nwx.extract.enrichers import ENRICHERS, Exchange, check_enrichers, enriched
from nwx.extract.page_fields import PageMarkup, evident_date
from nwx.mappings import FieldValue
from nwx.model import Capture
from nwx.values.http import response_head
from tests.pictured import photograph
from tests.web.archive import capture

AT = "20150101000000"
CC = "https://creativecommons.org/licenses/by/4.0/"


def capture_of(url: str, at: str = AT, **more: object) -> Capture:
    return capture(url, at, "", 0, **more)


def page(html: str) -> PageMarkup:
    return PageMarkup(html, "http://a.example/x/")


@pytest.mark.parametrize(
    ("html", "published"),
    [
        ('<time datetime="2013-05-01">', "2013-05-01T00:00:00Z"),
        ('<time itemprop="dateModified" datetime="2013-05-01">', ""),
        (
            '<time datetime="2013-05-01"><meta name="date" content="2012/4/1">',
            "2012-04-01T00:00:00Z",
        ),
        (
            '<meta name="date" content="2012-04-01">'
            '<meta property="article:published_time" content="2011-03-01T23:30:00-02:00">',
            "2011-03-02T01:30:00Z",
        ),
        (
            '<meta property="article:published_time" content="2011-03-01">'
            '<script type="application/ld+json">{"@graph": [{"datePublished": "2010-02-03"}]}'
            "</script>",
            "2010-02-03T00:00:00Z",
        ),
        ('<!-- <meta name="date" content="2012-04-01"> -->', ""),
        ('<meta name="date" content="2016-04-01">', ""),  # after the capture
        ('<meta name="date" content="0001-01-01">', ""),
        ('<script type="application/ld+json">{"datePublished": "2010-02</script>', ""),
    ],
)
def test_dates_of_publication_by_their_evidence(html: str, published: str) -> None:
    assert page(html).published(AT) == published


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2014-03-25T12:17:32Z", "2014-03-25T12:17:32Z"),
        ("Tue, 25 Mar 2014 12:17:32 GMT", "2014-03-25T12:17:32Z"),
        ("2014.03.25", "2014-03-25T00:00:00Z"),
        ("yesterday", ""),
        ("9999-12-31T23:59:59-12:00", ""),
        ("", ""),
    ],
)
def test_forms_of_dates(text: str, date: str) -> None:
    assert evident_date(text, AT) == date


@pytest.mark.parametrize(
    ("html", "license"),
    [
        ('<a href="//creativecommons.org/licenses/by/4.0/deed.de">', CC),
        ('<a href="/terms" rel="nofollow license">', "http://a.example/terms"),
        ('<a href="https://creativecommons.org/licenses/by/4.0/"><link rel=license href=t>',
         "http://a.example/x/t"),
        ('<link rel=license href=t><script type="application/ld+json">{"license": {"url": '
         '"http://creativecommons.org/licenses/by/4.0"}}</script>', CC),
        ('<a href="http://[" rel="license">', ""),
        ('<a href="javascript:x" rel="license">', ""),
        ('<A HREF=t REL=license>', "http://a.example/x/t"),
        ('<abbr rel=license href=t>license<a href=u>license', ""),
    ],
)  # fmt: skip
def test_licenses_by_their_evidence(html: str, license: str) -> None:
    assert page(html).license() == license


def test_keywords_and_elements() -> None:
    html = (
        '<!-- <p> --><META NAME=keywords CONTENT="Weirs, mills &amp; tides; weirs,">'
        '<script>if (a<b) x = "<table>"</script><P><p><my-element>'
        '<script type="application/ld+json">{"keywords": ["Tides", 5]}</script>'
    )
    assert page(html).keywords() == ("weirs", "mills & tides", "tides")
    expected = (("p", 2), ("script", 2), ("meta", 1), ("my-element", 1))
    assert page(html).elements() == expected


@pytest.mark.parametrize(
    "piece",
    ["<", "<a ", "<!--", "<script ", "<script>", "<meta x=", '<meta content="', "<a license<",
     "<script ld+json>", "[" * 50, "<time datetime='"],
)  # fmt: skip
def test_any_markup_is_read_in_linear_time(piece: str) -> None:
    capture = capture_of("http://a.example/", AT, content_type_norm="html")
    began = time.process_time()
    data = (piece * (1_000_000 // len(piece))).encode()
    enriched(["generator", "license", "keywords", "dates", "elements"], Exchange(capture, data))
    assert time.process_time() - began < 4


def fields(name: str, data: bytes, url: str, **more: str) -> dict[str, FieldValue]:
    return enriched([name], Exchange(capture_of(url, AT, **more), data))


def test_formats_by_signature() -> None:
    assert fields("format", b"%PDF-1.4\n...\n%%EOF", "http://a.example/a")["puid"] == "fmt/18"
    found = fields("format", b"GIF89a" + b"\0" * 20 + b";", "http://a.example/a.html")
    assert found == {"puid": "fmt/4", "content_type_droid": "image/gif; version=89a"}
    assert fields("format", b"\0\1\2\xff\xfe\0", "http://a.example/a") == {}
    assert fields("format", b"", "http://a.example/a") == {}
    shorter = fields("format", b"%PDF", "http://a.example/a", content_type_norm="text")
    assert shorter["puid"] == "x-fmt/111"  # the file keeps nothing of a longer payload


def test_hashes_heads_and_photographs() -> None:
    icon = fields("favicon", b"icon", "http://a.example/favicon.ico", content_type_norm="image")
    assert icon == {"favicon_hash": "1355950459"}
    assert fields("favicon", b"i", "http://a.example/a.png", content_type_norm="image") == {}
    shot = photograph((47, 0, 30), (8, 0, 0), "SW", taken="2014:03:25 12:17:32")
    found = fields("exif", shot, "http://a.example/a.jpg", content_type_norm="image")
    place = "-47.008333,-8.000000"
    assert found == {"exif_date": "2014-03-25T12:17:32Z", "exif_location": place}
    assert fields("exif", b"Exif", "http://a.example/a", content_type_norm="image") == {}
    text = Exchange(capture_of("http://a.example/", AT), content=" ".join(map(str, range(300))))
    assert str(enriched(["text-hash"], text)["tlsh_hash"]).startswith("T1")
    head = response_head(b"HTTP/1.1 200 OK\r\nServer: Apache \xff\r\nLast-Modified: x\r\n\r\n")
    heads = Exchange(capture_of("http://a.example/a.x!y", AT), head=head, ip_address="256.1.1.1")
    assert enriched(["server", "dates", "extension"], heads) == {"server": "Apache ÿ"}


def test_names_of_enrichers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_enrichers(["server,dates", "format"]) == ("format", "server", "dates")
    assert check_enrichers(["all"]) == tuple(ENRICHERS) and check_enrichers("none") == ()
    with pytest.raises(UsageError, match="no enricher 'colour'; choose from format, "):
        check_enrichers(["colour"])
    monkeypatch.setattr("nwx.extract.enrichers.find_spec", lambda _: None)
    with pytest.raises(UsageError, match=r"pip install 'nwx\[fields\]'"):
        check_enrichers(["format"])
    assert check_enrichers(["dates"]) == ("dates",)
