"""Round trips of records, and of bodies through their codings."""

import gzip
import zlib

import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from nwx.values.codings import dechunk, decode_content
from nwx.values.http import response_head
from nwx.warc.reader import ArchiveReader, CaptureRecord
from tests.unit.warc.stored_files import Stored, http, read, sha1, warc

BODIES = st.binary(max_size=2000)
KINDS = st.sampled_from(["response", "resource", "conversion"])
PACKERS = st.sampled_from(
    [
        lambda records: b"".join(records),
        lambda records: b"".join(gzip.compress(record, mtime=0) for record in records),
        lambda records: gzip.compress(b"".join(records), mtime=0),
        lambda records: b"".join(zstandard.compress(record) for record in records),
        lambda records: b"".join(
            gzip.compress(b"".join(records)[n : n + 300], mtime=0)
            for n in range(0, len(b"".join(records)), 300)
        ),
    ]
)


@given(st.lists(st.tuples(KINDS, BODIES), min_size=1, max_size=6), PACKERS)
@settings(deadline=None)
def test_records_come_back_as_they_were_written(records, pack) -> None:  # type: ignore[no-untyped-def]
    written = [
        warc(http(body) if kind == "response" else body, kind, f"http://example.org/{number}")
        for number, (kind, body) in enumerate(records)
    ]
    captures, errors = read(pack(written), keep=lambda capture: True)
    assert not errors
    assert [found.capture.url for found in captures] == [
        f"http://example.org/{number}" for number in range(len(records))
    ]
    assert [found.payload().data for found in captures] == [body for _, body in records]
    assert [found.capture.digest for found in captures] == [sha1(body) for _, body in records]
    assert [found.capture.content_length for found in captures] == [
        len(body) for _, body in records
    ]


@given(BODIES, st.lists(st.integers(1, 300), max_size=20), st.integers(0, 2500))
def test_chunking_comes_off(body: bytes, sizes: list[int], limit: int) -> None:
    chunked, rest = b"", body
    for size in sizes:
        if piece := rest[:size]:
            chunked += b"%x\r\n%b\r\n" % (len(piece), piece)
        rest = rest[size:]
    if rest:
        chunked += b"%X;x=y\r\n%b\r\n" % (len(rest), rest)
    decoded = dechunk(chunked + b"0\r\n\r\n", limit)
    assert decoded.data == body[:limit]
    assert not decoded.problem


@given(BODIES, st.sampled_from(["gzip", "deflate", "raw", "zstd"]), st.integers(0, 2500))
def test_content_codings_come_off_and_keep_to_the_limit(
    body: bytes, coding: str, limit: int
) -> None:
    coded = {
        "gzip": gzip.compress,
        "deflate": zlib.compress,
        "raw": lambda data: zlib.compress(data)[2:-4],
        "zstd": zstandard.compress,
    }[coding](body)
    decoded = decode_content("deflate" if coding == "raw" else coding, coded, limit)
    assert decoded == (body[:limit], len(body) > limit, "")


@given(st.binary(max_size=300), st.sampled_from(["gzip", "deflate", "br", "zstd", "x"]))
def test_any_body_in_any_coding_is_no_crash(body: bytes, coding: str) -> None:
    assert len(decode_content(coding, body, 100).data) <= 100


@given(st.binary(max_size=400))
def test_any_block_has_a_head_or_none(block: bytes) -> None:
    head = response_head(block)
    assert 0 <= head.size <= len(block)
    assert head.status is None or 0 <= head.status <= 999


@given(st.binary(max_size=400), st.sampled_from([b"", b"WARC/1.0\r\n", b"\x1f\x8b\x08\0", b"PK"]))
@settings(deadline=None)
def test_any_bytes_can_be_read_without_raising(noise: bytes, magic: bytes) -> None:
    found = list(ArchiveReader(Stored(magic + noise), "test", verify=True))
    assert found
    for item in found:
        if isinstance(item, CaptureRecord):
            item.payload()
