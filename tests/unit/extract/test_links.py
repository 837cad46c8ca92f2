"""Outlinks made absolute, checked and deduplicated."""

from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.extract.html import read_lexbor
from nwx.extract.links import Resolver, element_links, outlinks, srcset_candidates
from nwx.extract.soup import read_soup
from nwx.model import Link
from nwx.values.urls import EMBEDDED, KINDS, NAVIGATIONAL

PAGE = "http://www.example.org/a/b/page.html?x=1"


@pytest.mark.parametrize(
    ("reference", "url"),
    [
        ("other.html", "http://www.example.org/a/b/other.html"),
        ("../up.html", "http://www.example.org/a/up.html"),
        ("/root", "http://www.example.org/root"),
        ("//cdn.example/x.js", "http://cdn.example/x.js"),
        ("https://b.example/#top", "https://b.example/"),
        ("?q=1", "http://www.example.org/a/b/page.html?q=1"),
        ("a b", "http://www.example.org/a/b/a%20b"),
        (" \n /x\ty ", "http://www.example.org/xy"),
        ("javascript:alert(1)", ""),
        ("data:text/html,x", ""),
        ("mailto:a@b.example", ""),
        ("#here", ""),
        ("http://", ""),
        ("http://[bad", ""),
        ("x" * 9000, ""),
    ],
)
def test_a_reference_is_resolved_as_browsers_do(reference: str, url: str) -> None:
    assert Resolver(PAGE).absolute(reference) == url


@given(st.from_regex(r"(?:\.\./|/)?[a-z0-9_.~-]{1,12}(?:/[a-z0-9_.~-]{1,8}){0,3}", fullmatch=True))
def test_short_cuts_resolve_as_urljoin_does(reference: str) -> None:
    assert Resolver(PAGE).absolute(reference) == urljoin(PAGE, reference)


_PARTS = (
    "/",
    "//",
    "http://",
    "a.example",
    "HTTPS:",
    "..",
    ".",
    "#",
    "?",
    "x",
    ":",
    "%20",
    " ",
    "é",
)
_ODD = st.lists(st.sampled_from((*_PARTS, "\n", "\r", "\u2028", "[", "\\", "")), max_size=5)


@given(st.lists(_ODD.map("".join), max_size=6))
def test_references_are_resolved_together_as_one_by_one(references: list[str]) -> None:
    for page in (PAGE, "dns:a.example"):
        resolver = Resolver(page)
        expected = {reference: resolver.absolute(reference) for reference in references}
        assert resolver.absolutes(references) == expected


def test_long_references_are_resolved_together_as_one_by_one() -> None:
    resolver = Resolver(PAGE)
    for reference in ("/" + "x" * 3_901, "/" + "x" * 9_000, "http://a.example/" + "x" * 7_984):
        assert resolver.absolutes([reference]) == {reference: resolver.absolute(reference)}


def test_a_base_that_is_no_web_address_is_ignored() -> None:
    assert Resolver(PAGE, "javascript:x").absolute("c") == "http://www.example.org/a/b/c"
    assert Resolver(PAGE, "http://b.example/d/").absolute("c") == "http://b.example/d/c"
    assert Resolver("dns:a.example").absolute("c") == ""


def test_each_link_comes_once_with_its_first_text() -> None:
    raw = [("a", "x", ""), ("a", "x#2", " first "), ("a", "x", "second"), ("img", "x", "alt")]
    found, cut = outlinks(raw, Resolver("http://a.example/"), 10)
    assert found == [
        Link("http://a.example/x", "first", "a"),
        Link("http://a.example/x", "alt", "img"),
    ]
    assert not cut


def test_links_are_bounded() -> None:
    raw = [("a", f"p{number}", "text") for number in range(100)]
    found, cut = outlinks(raw, Resolver("http://a.example/"), 7)
    assert (len(found), cut) == (7, True)


@pytest.mark.parametrize(
    ("srcset", "urls"),
    [
        ("a.png 1x, b,c.png 2x ,d.png", ["a.png", "b,c.png", "d.png"]),
        ("a.png 1x,b.png 2x", ["a.png", "b.png"]),
        ("a.png, b.png", ["a.png", "b.png"]),
        ("a.png (1x, 2x), b.png", ["a.png", "b.png"]),
        ("data:image/gif;base64,R0lG 1x, b.png 100w", ["data:image/gif;base64,R0lG", "b.png"]),
        (" ,, a.png ,", ["a.png"]),
        ("a.png (", ["a.png"]),
        ("", []),
    ],
)
def test_the_candidates_of_a_srcset(srcset: str, urls: list[str]) -> None:
    assert list(srcset_candidates(srcset)) == urls


@pytest.mark.parametrize("read", [read_lexbor, read_soup])
@pytest.mark.parametrize(
    ("markup", "links"),
    [
        ("<a href=x>T</a>", [("a", "x", "T")]),
        ("<iframe src=x></iframe>", [("frame", "x", "")]),
        ("<link rel='Shortcut ICON' href=x>", [("icon", "x", "")]),
        ("<link rel=apple-touch-icon href=x>", [("icon", "x", "")]),
        ("<link rel=stylesheet href=x>", [("stylesheet", "x", "")]),
        ("<link rel='alternate stylesheet' href=x>", [("stylesheet", "x", "")]),
        ("<link rel=alternate href=x>", [("alternate", "x", "")]),
        ("<link rel=canonical href=x>", [("canonical", "x", "")]),
        ("<link rel=next href=x>", [("link", "x", "")]),
        ("<link href=x>", [("link", "x", "")]),
        ("<link rel=preload as=style href=x>", [("stylesheet", "x", "")]),
        ("<link rel=preload as=font href=x>", [("css", "x", "")]),
        ("<link rel=preload as=fetch href=x>", [("link", "x", "")]),
        (
            "<link rel=preload as=image href=x imagesrcset='y 1x,z 2x'>",
            [("img", "x", ""), ("img", "y", ""), ("img", "z", "")],
        ),
        (
            "<video src=v poster=p><source src=s><track src=t></video>",
            [("media", "v", ""), ("img", "p", ""), ("media", "s", ""), ("media", "t", "")],
        ),
        (
            "<picture><source srcset='a 1x,b 2x'><img src=c alt=C></picture>",
            [("img", "a", ""), ("img", "b", ""), ("img", "c", "C")],
        ),
        ("<object data=x></object><embed src=y>", [("media", "x", ""), ("media", "y", "")]),
        ("<input type=image src=x alt=Go>", [("img", "x", "Go")]),
        ("<meta http-equiv=refresh content='0;url=x'>", [("refresh", "x", "")]),
        ("<link rel=stylesheet><img><a>no</a>", []),
    ],
)
def test_links_have_kinds(read: object, markup: str, links: list[tuple[str, str, str]]) -> None:
    found = list(element_links(read(f"<html><body>{markup}</body></html>")))  # type: ignore[operator]
    assert found == links
    assert {kind for kind, _, _ in found} <= set(KINDS)


def test_no_kind_is_both_embedded_and_navigational() -> None:
    assert not EMBEDDED & NAVIGATIONAL
    assert set(KINDS) >= EMBEDDED | NAVIGATIONAL
