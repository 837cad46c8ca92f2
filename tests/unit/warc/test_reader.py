"""Reading complete archive files: formats, compressions, enrichment, resuming."""

import gzip
import tracemalloc
from itertools import islice
from pathlib import Path

import pytest

from nwx.keys import document_id, document_key
from nwx.model import Capture, ReadError
from nwx.warc.reader import ArchiveReader, CaptureRecord, ReadLimits, StoredPayload
from tests.unit.warc.stored_files import (
    Piped,
    Stored,
    http,
    one,
    pages,
    read,
    sha1,
    warc,
    zipped,
    zstd,
    zstd_with_dictionary,
)

PAGE = http(b"<p>hello</p>", "Content-Type: Text/HTML; charset=utf-8")
URLS = [f"http://example.org/{number}" for number in range(10)]


def _arc(*urls: str, version: int = 1, between: bytes = b"\n") -> bytes:
    names = "URL IP-address Archive-date Content-type Archive-length"
    if version == 2:
        names = (
            "URL IP-address Archive-date Content-type Result-code Checksum Location Offset "
            "Filename Archive-length"
        )
    about = f"{version} 0 Test\n{names}\n".encode()
    out = f"filedesc://a.arc 0.0.0.0 20200101000000 text/plain {len(about)}\n".encode() + about
    more = " 200 - - 0 a.arc" if version == 2 else ""
    for url in urls:
        line = f"{url} 127.0.0.1 20200102030405 text/html{more} {len(PAGE)}\n"
        out += between + line.encode() + PAGE
    return out + between


FORMATS = {
    "gzip": zipped(*pages()),
    "plain": b"".join(pages()),
    "one gzip member": gzip.compress(b"".join(pages()), mtime=0),
    "some to a member": zipped(
        b"".join(pages()[:1]), b"".join(pages()[1:5]), b"".join(pages()[5:])
    ),
    "zstd": zstd(pages()),
    "one zstd frame": zstd([b"".join(pages())]),
    "zstd with dictionary": zstd_with_dictionary(pages(), compressed=False),
    "zstd with compressed dictionary": zstd_with_dictionary(pages(), compressed=True),
    "arc": _arc(*URLS),
    "arc without newlines": _arc(*URLS, between=b""),
    "arc 2": _arc(*URLS, version=2),
    "arc in gzip": zipped(_arc(), *(_arc(url)[len(_arc()) :] for url in URLS)),
    "cut anywhere": zipped(*(b"".join(pages())[n : n + 500] for n in range(0, 9000, 500))),
    "filled up": zipped(*pages()) + b"\0" * 1000,
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_all_captures_in_order(name: str) -> None:
    captures, errors = read(FORMATS[name])
    assert [found.capture.url for found in captures] == URLS
    assert not errors
    offsets = [found.capture.source_file_offset for found in captures]
    assert offsets == sorted(set(offsets))
    assert all(found.payload().data for found in captures)


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("piped", [False, True])
def test_reading_resumes_at_every_capture(name: str, piped: bool) -> None:
    data = FORMATS[name]
    whole = ArchiveReader(Stored(data), "test")
    captures = [found for found in whole if isinstance(found, CaptureRecord)]

    class Source(Stored):
        def open(self) -> Piped:
            return Piped(data)

    for number, done in enumerate(captures):
        source = Source(data) if piped else Stored(data)
        reader = ArchiveReader(source, "test", start=done.resume_at)
        rest = list(reader)
        assert [found.capture for found in rest if isinstance(found, CaptureRecord)] == [
            found.capture for found in captures[number + 1 :]
        ]
        assert len(rest) == len(captures) - number - 1
        assert reader.records.total() <= whole.records.total() - number - 1


def test_the_counts_of_a_reading_cut_in_two_add_up() -> None:
    records = [
        warc(b"note: 1", "warcinfo"),
        *(
            warc(block, kind, url, WARC_Record_ID=f"<{kind}{url}>")
            for url in URLS
            for kind, block in (("request", b"GET / HTTP/1.1\r\n\r\n"), ("response", PAGE))
        ),
        warc(b"the end", "metadata", "urn:end"),
    ]
    data = zipped(*records)
    whole = ArchiveReader(Stored(data), "test")
    assert len(list(whole)) == 10
    for stop in range(1, 11):
        first = ArchiveReader(Stored(data), "test")
        found = next(islice(first, stop - 1, None))
        assert isinstance(found, CaptureRecord)
        second = ArchiveReader(Stored(data), "test", start=found.resume_at)
        assert len(list(second)) == 10 - stop
        assert first.records + second.records == whole.records


def test_a_capture_tells_all_of_its_record() -> None:
    data = zipped(warc(PAGE, url="http://www.Example.org/a?b=1", WARC_Payload_Digest=sha1(b"x")))
    assert one(data) == Capture(
        collection="test",
        source_file="made.warc.gz",
        source_file_offset=0,
        record_length=len(data),
        record_type="response",
        url="http://www.Example.org/a?b=1",
        urlkey="org,example)/a?b=1",
        host="www.example.org",
        domain="example.org",
        public_suffix="org",
        timestamp="20200102030405",
        digest=sha1(b"x"),
        document_id=document_id(document_key("http://www.Example.org/a?b=1", sha1(b"x"))),
        status_code=200,
        content_type="text/html",
        content_type_norm="html",
        content_length=12,
    )


def test_a_digest_that_is_missing_is_computed_over_the_body_as_stored() -> None:
    chunked = http(b"5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked")
    assert one(zipped(warc(chunked))).digest == sha1(b"5\r\nhello\r\n0\r\n\r\n")
    assert one(zipped(warc(b"text", "resource", Content_Type="text/plain"))).digest == sha1(b"text")
    assert one(_arc("http://a.org/")).digest == sha1(b"<p>hello</p>")


def test_a_digest_that_is_none_is_reported_and_computed() -> None:
    (found,), (error,) = read(zipped(warc(PAGE, WARC_Payload_Digest="sha1:nonsense")))
    assert found.capture.digest == sha1(b"<p>hello</p>")
    assert (error.kind, error.offset, error.file) == ("digest", 0, "made.warc.gz")


def test_a_revisit_tells_what_it_repeats() -> None:
    profile = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    head = http(b"", "Content-Type: text/html", "Content-Length: 77", status="HTTP/1.1 203 Fine")
    capture = one(
        zipped(
            warc(
                head,
                "revisit",
                WARC_Profile=profile,
                WARC_Payload_Digest=sha1(b"x"),
                WARC_Refers_To_Target_URI="<http://first.org/>",
                WARC_Refers_To_Date="2019-01-01T00:00:00Z",
                WARC_Truncated="length",
            )
        )
    )
    assert capture.record_type == "revisit"
    assert (capture.revisit_profile, capture.digest) == (profile, sha1(b"x"))
    assert (capture.refers_to_url, capture.refers_to_timestamp) == (
        "http://first.org/",
        "20190101000000",
    )
    assert (capture.status_code, capture.content_type, capture.content_length) == (
        203,
        "text/html",
        77,
    )
    assert capture.truncated == "length"


def test_a_revisit_without_digest_and_head_is_a_capture_all_the_same() -> None:
    capture = one(zipped(warc(b"", "revisit")))
    assert (capture.digest, capture.document_id, capture.status_code) == ("", "", None)
    assert capture.content_length is None


def test_what_is_no_capture_is_counted_only() -> None:
    reader = ArchiveReader(
        Stored(
            zipped(
                warc(b"software: x", "warcinfo"),
                warc(b"GET / HTTP/1.1\r\n\r\n", "request"),
                warc(b"via: http://a.org/", "metadata"),
                warc(b"{}", "resource", Content_Type="application/warc-fields"),
                warc(b"more", "continuation"),
                warc(b"what", "invention"),
                warc(b"text", "conversion", Content_Type="text/plain"),
            )
        ),
        "test",
    )
    (found,) = reader
    assert isinstance(found, CaptureRecord)
    assert found.capture.record_type == "conversion"
    assert reader.records == {
        "warcinfo": 1, "request": 1, "metadata": 1, "resource": 1, "continuation": 1, "unknown": 1,
        "conversion": 1,
    }  # fmt: skip


REQUEST = b"POST /x HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n\r\na=b"
NOTES = b"via: http://from.org/\r\nhopsFromSeed: LLE\r\n"


@pytest.mark.parametrize("order", ["qrm", "rqm", "rmq", "mqr", "qmr"])
def test_requests_and_metadata_enrich_the_capture_beside_them(order: str) -> None:
    own = "<urn:uuid:1>"
    records = {
        "r": warc(PAGE, WARC_Record_ID=own),
        "q": warc(REQUEST, "request", date="2020-01-02T03:04:06Z", WARC_Concurrent_To=own),
        "m": warc(NOTES, "metadata", date="2020-01-02T03:04:07Z", WARC_Concurrent_To=own),
    }
    data = zipped(*(records[name] for name in order))
    (found,), errors = read(data)
    capture = found.capture
    assert not errors
    assert (capture.method, capture.via, capture.hops) == ("POST", "http://from.org/", "LLE")
    assert capture.urlkey == "org,example)/?__wb_method=post&a=b"
    assert found.resume_at == len(data)


def test_the_key_of_a_chunked_post_is_made_of_its_body() -> None:
    fields, body = REQUEST.split(b"\r\n\r\n")
    request = fields + b"\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n" + body + b"\r\n0\r\n\r\n"
    own = "<urn:uuid:1>"
    data = zipped(warc(PAGE, WARC_Record_ID=own), warc(request, "request", WARC_Concurrent_To=own))
    (found,), _ = read(data)
    assert found.capture.urlkey == "org,example)/?__wb_method=post&a=b"


def test_records_of_the_same_url_and_date_belong_together_and_others_do_not() -> None:
    data = zipped(
        warc(b"HEAD / HTTP/1.1\r\n\r\n", "request", url=URLS[0]),
        warc(PAGE, url=URLS[0]),
        warc(b"PATCH / HTTP/1.1\r\n\r\n", "request", url=URLS[1]),
        warc(PAGE, url=URLS[2]),
        warc(PAGE, url=URLS[3]),
    )
    captures, _ = read(data)
    assert [found.capture.method for found in captures] == ["HEAD", "GET", "GET"]


def test_two_exchanges_of_one_url_in_one_second_keep_their_own_requests() -> None:
    data = zipped(
        *(
            record
            for body in (b"a=1", b"a=2")
            for record in (warc(PAGE), warc(REQUEST[:-3] + body, "request"))
        )
    )
    captures, _ = read(data)
    assert [found.capture.urlkey[-3:] for found in captures] == ["a=1", "a=2"]


def test_a_file_of_requests_alone_does_not_pile_them_up() -> None:
    data = zipped(*(warc(REQUEST * 20, "request", url=f"http://a.org/{n}") for n in range(5000)))
    tracemalloc.start()
    assert read(data) == ([], [])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 16 << 20


def test_redirects_are_made_absolute() -> None:
    block = http(b"", "Location: ../b", status="HTTP/1.1 301 Moved")
    assert one(zipped(warc(block, url="http://a.org/x/y"))).redirect_to == "http://a.org/b"
    block = http(b"", "Location: http://[bad", status="HTTP/1.1 301 Moved")
    assert one(zipped(warc(block))).redirect_to == ""


def test_payloads_are_decoded_when_they_are_asked_for() -> None:
    block = http(
        gzip.compress(b"hello", mtime=0), "Content-Encoding: gzip", "Content-Type: a/b; charset=X"
    )
    (found,), _ = read(zipped(warc(block)), keep=lambda capture: True)
    assert found.payload() == StoredPayload(b"hello", "X", False, "")


def test_only_what_is_worth_keeping_is_kept() -> None:
    asked = []

    def keep(capture: Capture) -> bool:
        asked.append(capture.url)
        return capture.url == URLS[1]

    captures, _ = read(zipped(*pages()), keep=keep)
    assert [bool(found.payload().data) for found in captures] == [url == URLS[1] for url in URLS]
    assert asked == URLS


def test_images_and_revisits_are_not_kept_by_default() -> None:
    image = http(b"\x89PNG", "Content-Type: image/png")
    captures, _ = read(zipped(warc(image), warc(PAGE, "revisit"), warc(PAGE)))
    assert [bool(found.payload().data) for found in captures] == [False, False, True]


@pytest.mark.parametrize("pack", [zipped, lambda record: record, lambda record: zstd([record])])
def test_a_long_record_is_read_in_little_memory_and_digested_whole(pack) -> None:  # type: ignore[no-untyped-def]
    body = b"0123456789abcdef" * (1 << 18)  # 4 MiB
    data = pack(warc(http(body))) + pack(warc(PAGE, url=URLS[1]))
    limits = ReadLimits(body_bytes=1 << 16, payload_bytes=1 << 15)
    tracemalloc.start()
    captures, errors = read(data, limits=limits, verify=True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not errors
    first, second = captures
    assert first.capture.digest == sha1(body)
    assert first.capture.content_length == len(body)
    payload = first.payload()
    assert (payload.data, payload.truncated) == (body[: 1 << 15], True)
    assert second.payload().data == b"<p>hello</p>"
    assert peak < 4 << 20


def test_verifying_compares_the_digests_of_block_and_payload() -> None:
    chunked = http(b"5\r\nhello\r\n0\r\n\r\n", "Transfer-Encoding: chunked")
    good = [
        warc(PAGE, WARC_Block_Digest=sha1(PAGE), WARC_Payload_Digest=sha1(b"<p>hello</p>")),
        warc(chunked, WARC_Payload_Digest=sha1(b"hello")),
        warc(chunked, WARC_Payload_Digest=sha1(b"5\r\nhello\r\n0\r\n\r\n")),
        warc(b"", "revisit", WARC_Payload_Digest=sha1(b"another")),
        warc(PAGE, WARC_Payload_Digest=sha1(b"all"), WARC_Segment_Number="1"),
    ]
    bad = [
        warc(PAGE, WARC_Block_Digest=sha1(b"other")),
        warc(PAGE, WARC_Payload_Digest=sha1(b"other")),
        warc(b"note", "metadata", WARC_Block_Digest=sha1(b"other")),
    ]
    captures, errors = read(zipped(*good), verify=True)
    assert (len(captures), errors) == (5, [])
    short = ReadLimits(body_bytes=chunked.index(b"llo"))
    captures, errors = read(zipped(*good[1:3]), verify=True, limits=short)
    assert (len(captures), errors) == (2, [])
    captures, errors = read(zipped(*bad), verify=True)
    assert [error.kind for error in errors] == ["digest"] * 3
    assert read(zipped(*bad))[1] == []


def test_the_position_reaches_the_end_of_the_file() -> None:
    data = FORMATS["gzip"]
    reader = ArchiveReader(Stored(data), "test")
    positions = [reader.position for _ in reader]
    assert positions == sorted(positions)
    assert reader.position == len(data)


def test_a_source_that_cannot_be_opened_or_read_on_is_an_error() -> None:
    class Away(Stored):
        def open(self):  # type: ignore[no-untyped-def]
            raise FileNotFoundError("it is away")

    class Breaking(Piped):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 0:
                raise OSError("the disk is gone")
            return super().read(1500)

    class Broken(Stored):
        def open(self) -> Breaking:
            return Breaking(self.data)

    (error,) = ArchiveReader(Away(b""), "test")
    assert isinstance(error, ReadError)
    assert (error.kind, error.message) == ("read", "cannot be read: it is away")
    found = list(ArchiveReader(Broken(zipped(*pages())), "test"))
    assert any(isinstance(item, CaptureRecord) for item in found)
    assert isinstance(found[-1], ReadError)
    assert (found[-1].kind, found[-1].message) == ("read", "the disk is gone")


def test_a_file_on_disk_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(FORMATS["gzip"])

    class OnDisk:
        name = "a.warc.gz"

        def open(self):  # type: ignore[no-untyped-def]
            return path.open("rb")

    assert len(list(ArchiveReader(OnDisk(), "test"))) == 10
