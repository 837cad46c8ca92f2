"""Metadata records that are separated from their captures within a file."""

from nwx.importing.late_outlinks import (
    LINKS_OF_A_DOCUMENT,
    LateOutlinks,
    OutlinkJoin,
    outlink_links,
    with_links,
)
from nwx.model import Document, Extract, Link
from nwx.values.http import Fields
from nwx.warc.reader import CaptureRecord
from nwx.warc.record import Record
from nwx.warc.record_groups import Outlink, RecordedOutlinks
from tests.conformance.archive import capture


def recorded(name: str, *urls: str) -> RecordedOutlinks:
    outlinks = tuple(Outlink(url, "L", "a/@href") for url in urls or ("http://b.example/",))
    names = (name.encode(),) if name else ()
    return RecordedOutlinks(99, names, b"http://a.example/", b"2010", outlinks, False)


def met(name: str, offset: int) -> CaptureRecord:
    record = Record("response", "warc", Fields(f"\nWARC-Record-ID: {name}\n".encode()), offset)
    found = capture(f"http://a.example/{offset}", offset=offset)
    return CaptureRecord(found, offset + 1, record, 1000, kept=False)


def links(documents: tuple[Document, ...]) -> list[list[str]]:
    return [[link.url for link in document.extract.links] for document in documents]


def test_a_document_at_hand_gets_its_links() -> None:
    join, first, second = OutlinkJoin(), met("a", 0), met("b", 1)
    join.meet(first)
    join.meet(second)
    join.add(recorded("a"))
    documents = [Document(one.capture, Extract()) for one in (first, second)]
    done, late = join.take(documents)
    assert (links(done), late) == ([["http://b.example/"], []], ())


def test_one_that_is_written_already_is_named_for_the_parent() -> None:
    join, first = OutlinkJoin(), met("a", 0)
    join.meet(first)
    join.take([Document(first.capture, Extract())])
    join.add(recorded("a"))
    _, [late] = join.take([])
    assert late.offset == 0
    assert first.capture.document_id in late.documents


def test_metadata_may_come_first() -> None:
    join, first = OutlinkJoin(), met("a", 0)
    join.add(recorded("a"))
    assert join.is_waiting
    join.meet(first)
    assert not join.is_waiting
    done, late = join.take([Document(first.capture, Extract())])
    assert (links(done), late) == ([["http://b.example/"]], ())


def test_what_has_no_capture_here_is_looked_up_by_its_url() -> None:
    join = OutlinkJoin()
    join.add(recorded(""))
    join.add(recorded("elsewhere"))
    assert join.take([]) == ((), (LateOutlinks(recorded("")),))
    join.close()
    assert join.take([]) == ((), (LateOutlinks(recorded("elsewhere")),))


def test_waiting_is_bounded_in_records_outlinks_and_captures() -> None:
    join = OutlinkJoin()
    for number in range(1_200):
        join.add(recorded(f"m{number}"))
    assert len(join.take([])[1]) == 200
    join = OutlinkJoin()
    for number in range(20):
        join.add(recorded(f"m{number}", *(f"http://b.example/{n}" for n in range(9_000))))
    assert sum(len(one.recorded.outlinks) for one in join.take([])[1]) >= 80_000
    assert join.is_waiting
    for number in range(4_001):
        join.meet(met(f"c{number}", number))
    assert not join.is_waiting
    assert not join.is_full
    assert sum(len(one.recorded.outlinks) for one in join.take([])[1]) == 99_000


def test_kinds_come_from_the_element_or_the_hop() -> None:
    contexts = {
        "http://b.example/a": ("L", "a/@href", "a"),
        "http://b.example/i": ("E", "img/@src", "img"),
        "http://b.example/s": ("E", "SCRIPT/@src", "script"),
        "http://b.example/c": ("E", "=EMBED_MISC", "css"),
        "http://b.example/ie6.css?v=1": ("E", "link/@href", "stylesheet"),
        "http://b.example/favicon.ico": ("E", "LINK/@HREF", "icon"),
        "http://b.example/feed": ("E", "link/@href", "link"),
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
