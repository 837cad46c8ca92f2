"""The outlinks of metadata records."""

from nwx.values.http import Fields
from nwx.warc.enrichment.outlinks import MOST_OUTLINKS, Outlink, has_outlinks, recorded_outlinks
from nwx.warc.record import Record

# The block of a record of Heritrix 1.14 in a crawl of archive.org, shortened.
HERITRIX = (
    b"seed:\r\nfetchTimeMs: 47\r\n"
    b"outlink: http://www.archive.org/ L a/@href\r\n"
    b"outlink: http://www.archive.org/index.php X =JS_MISC\r\n"
    b"outlink: http://www.archive.org/images/logoc.jpg E img/@src\r\n"
    b"outlink: http://www.archive.org/index.php R meta\r\n\r\n"
)


def metadata(block: bytes, kind: str = "metadata", more: bytes = b"") -> Record:
    lines = b"\nWARC-Target-URI: http://a.example/\nWARC-Date: 2015-01-01T00:00:00Z" + more
    record = Record(kind, "warc", Fields(lines + b"\n"), 7)
    record.block, record.block_length = block, len(block)
    return record


def test_every_line_is_read_in_order() -> None:
    names = b"\nWARC-Concurrent-To: <urn:x:1>\nWARC-Refers-To: <urn:x:2>"
    found = recorded_outlinks(metadata(HERITRIX, more=names))
    assert found.outlinks == (
        Outlink("http://www.archive.org/", "L", "a/@href"),
        Outlink("http://www.archive.org/index.php", "X", "=JS_MISC"),
        Outlink("http://www.archive.org/images/logoc.jpg", "E", "img/@src"),
        Outlink("http://www.archive.org/index.php", "R", "meta"),
    )
    assert (found.offset, found.cut) == (7, False)
    assert found.names == (b"<urn:x:1>", b"<urn:x:2>")
    assert (found.url, found.date) == (b"http://a.example/", b"2015-01-01T00:00:00Z")


def test_only_metadata_with_such_lines_has_outlinks() -> None:
    assert has_outlinks(metadata(HERITRIX))
    assert has_outlinks(metadata(b"outlink: http://b.example/\n"))
    assert not has_outlinks(metadata(HERITRIX, "request"))
    assert not has_outlinks(metadata(b"via: http://a.example/outlink:\r\n"))


def test_odd_lines_are_read_as_far_as_they_go() -> None:
    block = b"outlink:\noutlink:  \xe4.example\noutlink: http://b.example/\xff L\nnot outlink: x\n"
    found = recorded_outlinks(metadata(block))
    assert found.outlinks == (
        Outlink("ä.example", "", ""),
        Outlink("http://b.example/ÿ", "L", ""),
    )


def test_a_flood_is_bounded_and_said_to_be() -> None:
    block = b"".join(b"outlink: http://b.example/%d L a/@href\n" % n for n in range(20_000))
    found = recorded_outlinks(metadata(block))
    assert (len(found.outlinks), found.cut) == (MOST_OUTLINKS, True)
    endless = recorded_outlinks(metadata(b"outlink: http://b.example/" + b"x" * (8 << 20)))
    assert (endless.outlinks, endless.cut) == ((), True)
