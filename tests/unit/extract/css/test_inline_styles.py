"""URLs of inline styles and backgrounds."""

import pytest

from nwx.extract import PARSERS, extract
from nwx.extract.css.inline_styles import inline_links
from nwx.extract.lexbor import read_lexbor
from nwx.extract.soup import read_soup


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
