"""Members of stored files with any compression."""

import gzip
import io
import struct
from collections.abc import Callable

import pytest
import zstandard

from nwx.warc.members import (
    Members,
    ZstdMembers,
    has_dictionary,
    is_damaged,
    open_members,
    read_dictionary,
    record_at,
)
from nwx.warc.stored_bytes import Raw
from tests.unit.warc.stored_files import Piped, pages, read, zipped

RECORDS = pages(5)


def contents(members: Members) -> list[bytes]:
    """Return the bytes of each member."""
    found = []
    while members.next():
        content = b""
        while True:
            content += members.data[members.pos :]
            members.pos = len(members.data)
            if not members.more():
                break
        found.append(content)
    return found


STORED = {
    "gzip": zipped(*RECORDS),
    "zstd": b"".join(map(zstandard.compress, RECORDS)),
}


@pytest.mark.parametrize("coding", STORED)
def test_each_record_is_a_member(coding: str) -> None:
    members = open_members(io.BytesIO(STORED[coding]))
    assert members.coding == coding
    assert contents(members) == RECORDS
    assert members.faults == []


def test_a_plain_file_is_one_member() -> None:
    members = open_members(io.BytesIO(b"".join(RECORDS)))
    assert members.coding == ""
    assert contents(members) == [b"".join(RECORDS)]


def test_reading_begins_at_a_place_where_a_member_begins() -> None:
    offset = len(zipped(*RECORDS[:2]))
    assert contents(open_members(io.BytesIO(STORED["gzip"]), offset)) == RECORDS[2:]
    assert contents(open_members(io.BytesIO(STORED["gzip"]), offset + 1)) == RECORDS


def test_a_pipe_is_read_from_its_start() -> None:
    assert contents(open_members(Piped(STORED["gzip"]), 5)) == RECORDS


@pytest.mark.parametrize("front", [b"\0", b"junk", b"\xff" * 100])
def test_a_damaged_front_is_passed_over(front: bytes) -> None:
    members = open_members(io.BytesIO(front + STORED["gzip"]))
    assert members.coding == "gzip"
    assert contents(members)[-5:] == RECORDS


def test_an_empty_file_has_no_members() -> None:
    assert contents(open_members(io.BytesIO(b""))) == []


FRAMED_RECORDS = pages(60)


def with_dictionary(*, packed: bool) -> bytes:
    trained = zstandard.train_dictionary(4096, FRAMED_RECORDS)
    content = trained.as_bytes()
    stored = zstandard.compress(content) if packed else content
    front = struct.pack("<II", 0x184D2A5D, len(stored)) + stored
    compressor = zstandard.ZstdCompressor(dict_data=trained)
    return front + b"".join(map(compressor.compress, FRAMED_RECORDS))


def test_frames_that_need_the_dictionary_in_front() -> None:
    for packed in (False, True):
        data = with_dictionary(packed=packed)
        assert has_dictionary(data)
        assert read_dictionary(Raw(io.BytesIO(data))) is not None
        assert contents(open_members(io.BytesIO(data))) == FRAMED_RECORDS


def test_frames_without_a_dictionary() -> None:
    data = b"".join(map(zstandard.compress, FRAMED_RECORDS))
    assert not has_dictionary(data)
    assert contents(ZstdMembers(Raw(io.BytesIO(data)))) == FRAMED_RECORDS


def test_a_damaged_frame_is_reported_and_the_others_are_read() -> None:
    frames = [
        zstandard.ZstdCompressor(write_checksum=True).compress(one) for one in FRAMED_RECORDS[:3]
    ]
    data = bytearray(b"".join(frames))
    data[len(frames[0]) + len(frames[1]) // 2] ^= 0xFF
    members = ZstdMembers(Raw(io.BytesIO(bytes(data))))
    found = contents(members)
    assert (found[0], found[-1]) == (FRAMED_RECORDS[0], FRAMED_RECORDS[2])
    assert members.faults[0].kind == "zstd"


PLACED_RECORDS = pages(4)
FILES = {
    "gzip": zipped(*PLACED_RECORDS),
    "plain": b"".join(PLACED_RECORDS),
    "zstd": b"".join(map(zstandard.compress, PLACED_RECORDS)),
    "one member": gzip.compress(b"".join(PLACED_RECORDS), mtime=0),
}


@pytest.mark.parametrize("kind", FILES)
def test_each_capture_is_found_again_at_its_place(kind: str) -> None:
    captures, _ = read(FILES[kind])
    assert len(captures) == 4
    for number, found in enumerate(captures):
        record = record_at(io.BytesIO(FILES[kind]), found.capture.source_file_offset)
        assert record is not None
        assert record.read().startswith(PLACED_RECORDS[number])
        assert not is_damaged(record)


@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("offset", [3, 1 << 40])
def test_where_no_record_is_there_is_none(kind: str, offset: int) -> None:
    handle = io.BytesIO(FILES[kind])
    assert record_at(handle, offset) is None
    assert not handle.closed


def test_closing_a_record_closes_its_file() -> None:
    handle = io.BytesIO(FILES["gzip"])
    record = record_at(handle, 0)
    assert record is not None
    record.close()
    assert handle.closed


def test_a_damaged_record_is_given_as_far_as_it_goes() -> None:
    record = record_at(io.BytesIO(zipped(PLACED_RECORDS[0])[:-20]), 0)
    assert record is not None
    assert PLACED_RECORDS[0].startswith(record.read())
    assert is_damaged(record)


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_a_record_goes_on_in_the_next_member(compress: Callable[[bytes], bytes]) -> None:
    halves = [(one[: len(one) // 2], one[len(one) // 2 :]) for one in PLACED_RECORDS]
    stored = b"".join(compress(half) for pair in halves for half in pair)
    captures, _ = read(stored)
    assert len(captures) == len(PLACED_RECORDS)
    for content, found in zip(PLACED_RECORDS, captures, strict=True):
        record = record_at(io.BytesIO(stored), found.capture.source_file_offset)
        assert record is not None
        assert record.read() == content
        assert not is_damaged(record)
    cut = record_at(io.BytesIO(compress(halves[0][0]) + compress(halves[0][1])[:-9]), 0)
    assert cut is not None
    cut.read()
    assert is_damaged(cut)


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress])
def test_reading_a_record_ends_at_bytes_that_are_no_member(
    compress: Callable[[bytes], bytes],
) -> None:
    stored = io.BytesIO(compress(PLACED_RECORDS[0]) + b"x" * 9_000_000 + compress(b"more"))
    record = record_at(stored, 0)
    assert record is not None
    assert record.read() == PLACED_RECORDS[0]
    assert stored.tell() < 2_000_000
