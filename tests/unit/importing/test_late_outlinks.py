"""Metadata records that lie apart from their captures, in one file."""

from nwx.importing.late_outlinks import LateOutlinks, OutlinkJoin
from nwx.model import Document, Extract
from nwx.values.http import Fields
from nwx.warc.enrichment.outlinks import Outlink, RecordedOutlinks
from nwx.warc.reader import CaptureRecord
from nwx.warc.record import Record
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
