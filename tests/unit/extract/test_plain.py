"""Plain text and feeds."""

from nwx.extract import ExtractLimits, extract
from nwx.model import Extract


def read(data: bytes, **options: object) -> Extract:
    return extract(data, url="http://a.example/t.txt", content_type_norm="text", **options)  # type: ignore[arg-type]


def test_text_and_first_line() -> None:
    found = read(b"  ======\r\nFerry  times\r\n\r\n Lantern - Saltholm\x0c 6.00\n")
    assert found.content == "======\nFerry times\nLantern - Saltholm\n6.00"
    assert found.title == "Ferry times"


def test_charset_of_the_header() -> None:
    text = "Straße und Brücke"
    assert read(text.encode("cp1252"), charset="iso-8859-1").content == text


def test_a_long_first_line_is_no_title() -> None:
    assert read(b"word " * 100).title == ""


def test_feed() -> None:
    feed = """<?xml version="1.0"?><rss><channel><title>The &amp; diary</title><link>http://x/</link>
    <item><title>One</title><description><![CDATA[<p>Two &eacute;</p><b>three</b>]]></description>
    <content>&lt;p&gt;four&lt;/p&gt;</content></item></channel></rss>"""
    found = read(feed.encode(), content_type="application/rss+xml")
    assert found.title == "The & diary"
    assert found.content.split() == [
        "The",
        "&",
        "diary",
        "http://x/",
        "One",
        "Two",
        "é",
        "three",
        "four",
    ]


def test_html_in_a_text_stays() -> None:
    assert read(b"Use <b>bold</b> words").content == "Use <b>bold</b> words"


def test_cut_is_told() -> None:
    found = read(b"abc def ghi", limits=ExtractLimits(characters=7))
    assert found.content == "abc def"
    assert found.problems == ("text: cut after 7 characters",)
