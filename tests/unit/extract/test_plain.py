"""Plain text and feeds."""

from collections.abc import Iterator
from typing import Any

import pytest
import tinycss2
from hypothesis import given
from hypothesis import strategies as st

from nwx.extract import PARSERS, ExtractLimits, extract
from nwx.extract.html import read_lexbor
from nwx.extract.plain import css_references, inline_links
from nwx.extract.soup import read_soup
from nwx.model import Extract, Link
from nwx.query.tree import is_below_pages


def read(data: bytes, **options: object) -> Extract:
    return extract(data, url="http://a.example/t.txt", content_type_norm="text", **options)  # type: ignore[arg-type]


def test_text_and_first_line() -> None:
    found = read(b"  ======\r\nFerry  times\r\n\r\n Lantern - Saltholm\x0c 6.00\n")
    assert found.content == "======\nFerry times\nLantern - Saltholm\n6.00"
    assert found.title == "Ferry times"


def test_robots_txt_is_no_page_to_read() -> None:
    text = b"User-agent: *\nDisallow: /museum/"
    found = extract(text, url="http://a.example/robots.txt", content_type_norm="text")
    assert found.problems == ("page: robots.txt",) and not read(text).problems
    assert is_below_pages("text", 200, found.problems)


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


CASES = [
    ("a{background:url(x.png)}", [("css", "x.png")]),
    ("a{background:URL( 'x y.png' )}", [("css", "x y.png")]),
    (
        '@import "a.css"; @import url(b.css) screen;',
        [("stylesheet", "a.css"), ("stylesheet", "b.css")],
    ),
    ("@import/* c */'a.css';", [("stylesheet", "a.css")]),
    ("/* url(no.png) */ a{b:url(yes.png)}", [("css", "yes.png")]),
    ("a{content:'url(no.png)'}", []),
    ('a{content:"it\'s"; b:url(x)}', [("css", "x")]),
    ("@namespace svg url(http://www.w3.org/2000/svg);a{b:url(x)}", [("css", "x")]),
    (
        "a{b:image-set('1.png' 1x, url(2.png) 2x type('image/png'))}",
        [("css", "1.png"), ("css", "2.png")],
    ),
    ("a{b:-webkit-image-set(url(1.png) 1x)}", [("css", "1.png")]),
    (r"a{b:url(a\ b\29 .png)}", [("css", "a b).png")]),
    (r"a{b:url('\66oo.png')}", [("css", "foo.png")]),
    ("a{b:url('x.png", [("css", "x.png")]),
    (
        "@font-face{src:local(no),url(f.woff2)format('woff2'),url(f.ttf)}",
        [("css", "f.woff2"), ("css", "f.ttf")],
    ),
    ("/* open url(no)", []),
    ("a{b:url()}", []),
    ("a{b:url(no no);c:url(yes)}", [("css", "yes")]),
]


@pytest.mark.parametrize(("css", "found"), CASES)
def test_references_of_a_style_sheet(css: str, found: list[tuple[str, str]]) -> None:
    assert [(kind, url) for kind, url, _ in css_references(css)] == found


def urls_of(tokens: list[Any]) -> Iterator[str]:
    for token in tokens or ():
        if token.type == "url":
            yield token.value
        elif token.type == "function":
            if token.lower_name == "url":
                yield from (each.value for each in token.arguments if each.type == "string")
            else:
                yield from urls_of(token.arguments)
        else:
            yield from urls_of(getattr(token, "content", None) or [])


PIECES = st.sampled_from(
    [
        "a{b:url(x1)}",
        "url( 'x 2' )",
        '"s"',
        "'",
        '"',
        "/*",
        "*/",
        "\n",
        "\\'",
        "\\41 ",
        "{",
        "}",
        ";",
        "url(x3",
        ")",
        " ",
    ]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_what_tinycss2_reads_is_found(css: str) -> None:
    expected = set(urls_of(tinycss2.parse_component_value_list(css)))
    assert expected <= {url for _, url, _ in css_references(css)}


def test_a_style_sheet_is_a_document_with_links() -> None:
    found = extract(
        b"@import 'more.css'; body { background: url(../img/sky.png) } i { a: url(data:x,y) }",
        url="http://a.example/css/site.css",
        content_type_norm="style",
    )
    assert found.content == ""
    assert found.links == (
        Link("http://a.example/css/more.css", "", "stylesheet"),
        Link("http://a.example/img/sky.png", "", "css"),
    )


def test_the_links_of_a_style_sheet_are_bounded() -> None:
    css = b"".join(b"a{b:url(%d)}" % number for number in range(20))
    found = extract(
        css, url="http://a.example/", content_type_norm="style", limits=ExtractLimits(links=3)
    )
    assert len(found.links) == 3
    assert found.problems == ("links: more than 3, the rest was left out",)


@pytest.mark.parametrize(
    "piece",
    [
        "/*",
        "@import ",
        "@import/*",
        "url(",
        "url('",
        "image-set(",
        "image-set(type(",
        "\\",
        '"\\',
        "@namespace",
        "image-set(url(x",
    ],
)
def test_hostile_style_sheets_are_read_to_their_end(piece: str) -> None:
    count = 100_000  # too many for quadratic time
    assert sum(1 for _ in css_references(piece * count)) <= count
    assert sum(1 for _ in css_references(piece * count + '"); a{b:url(x)}')) <= count + 1


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ("<p style='background:url(x.png)'>", [("css", "x.png")]),
        ('<p title="a > b" STYLE = "background:url(&quot;x.png&quot;)">', [("css", "x.png")]),
        ("<style>@import 'a.css'; b{c:url(d)}</style>", [("stylesheet", "a.css"), ("css", "d")]),
        ("<table background=x.gif><td background='y.gif'>", [("img", "x.gif"), ("img", "y.gif")]),
        ("<!-- <p style='a:url(x)'> --><p>", []),
        ("<script>var a = '<p style=\"b:url(x)\">'</script>", []),
        ("<noscript><p style='a:url(x)'></noscript>", []),
        ("<p title=\"style='a:url(x)'\">", []),
        ("<p>style='a:url(x)'</p>", []),
        ("<style>a{b:url(x)}", [("css", "x")]),
        ("<p>nothing", []),
    ],
)
def test_inline_links(html: str, found: list[tuple[str, str]]) -> None:
    for read in (read_lexbor, read_soup):
        assert [(kind, url) for kind, url, _ in inline_links(read(html))] == found


@pytest.mark.parametrize("parser", PARSERS)
def test_inline_links_are_links_of_the_page(parser: str) -> None:
    found = extract(
        b"<html><base href=/sub/><style>a{b:url(x.png)}</style><p style='c:url(/y.png)'>",
        url="http://a.example/",
        content_type_norm="html",
        parser=parser,
    )
    assert [(link.url, link.kind) for link in found.links] == [
        ("http://a.example/sub/x.png", "css"),
        ("http://a.example/y.png", "css"),
    ]
