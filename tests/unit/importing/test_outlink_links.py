"""Outlinks of metadata records as links."""

from nwx.importing.outlink_links import LINKS_OF_A_DOCUMENT, outlink_links, with_links
from nwx.model import Extract, Link
from nwx.warc.enrichment.outlinks import Outlink


def test_kinds_come_from_the_element_or_the_hop() -> None:
    contexts = {
        "http://b.example/a": ("L", "a/@href", "a"),
        "http://b.example/i": ("E", "img/@src", "img"),
        "http://b.example/s": ("E", "SCRIPT/@src", "script"),
        "http://b.example/c": ("E", "=EMBED_MISC", "css"),
        "http://b.example/o": ("E", "param/@value", "media"),
        "http://b.example/r": ("R", "Location:", "refresh"),
        "http://b.example/x": ("X", "=JS_MISC", "outlink"),
        "http://b.example/f": ("I", "=INFERRED_MISC", "outlink"),
    }
    outlinks = [Outlink(url, hop, context) for url, (hop, context, _) in contexts.items()]
    found = outlink_links("http://a.example/", outlinks)
    assert {link.url: link.kind for link in found} == {
        url: kind for url, (_, _, kind) in contexts.items()
    }


def test_urls_are_made_absolute_and_what_is_none_is_left_out() -> None:
    urls = [
        "/x#y",
        "http://b.example/",
        "http://b.example/",
        "mailto:x@y",
        "javascript:x",
        "http://",
    ]
    found = outlink_links("http://a.example/z/", [Outlink(url, "L", "a/@href") for url in urls])
    assert found == [Link("http://a.example/x"), Link("http://b.example/")]


def test_only_urls_that_the_page_does_not_have_are_added() -> None:
    page = Extract(links=(Link("http://b.example/", "text", "a"),), content="text")
    same = with_links(page, [Link("http://b.example/", "", "img")])
    assert same is page
    more = with_links(page, [Link("http://b.example/"), Link("http://c.example/")], "cut")
    assert more.links == (*page.links, Link("http://c.example/"))
    assert (more.problems, more.content) == (("cut",), "text")


def test_links_are_bounded() -> None:
    links = [Link(f"http://b.example/{n}") for n in range(LINKS_OF_A_DOCUMENT + 1)]
    found = with_links(Extract(), links)
    assert len(found.links) == LINKS_OF_A_DOCUMENT
    [problem] = found.problems
    assert problem.startswith("links: more than")
    assert with_links(found, links) == found
