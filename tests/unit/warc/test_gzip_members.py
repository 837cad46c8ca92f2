"""Gzip members, including damaged ones."""

import gzip
import io

import pytest

from nwx.warc.gzip_members import RECORD_START, GzipMembers, starts_gzip_record
from nwx.warc.stored_bytes import Raw
from tests.unit.warc.stored_files import pages, zipped
from tests.unit.warc.test_members import contents

RECORDS = pages(4)


def opened(data: bytes) -> GzipMembers:
    return GzipMembers(Raw(io.BytesIO(data)))


def test_the_place_of_a_member_is_known_once_it_has_ended() -> None:
    members = opened(zipped(*RECORDS))
    places = []
    while members.next():
        while members.more():
            members.pos = len(members.data)
        places.append((members.start, members.end))
    sizes = [len(zipped(record)) for record in RECORDS]
    assert places == [(sum(sizes[:n]), sum(sizes[: n + 1])) for n in range(4)]


def test_a_damaged_member_is_reported_and_the_next_one_is_read() -> None:
    first = len(zipped(RECORDS[0]))
    data = bytearray(zipped(*RECORDS))
    data[first + 40] ^= 0xFF
    members = opened(bytes(data))
    found = contents(members)
    assert found[0] == RECORDS[0]
    assert found[-2:] == RECORDS[2:]
    assert [(fault.offset, fault.kind) for fault in members.faults][:1] == [(first, "gzip")]


def test_a_cut_member_is_reported() -> None:
    members = opened(zipped(*RECORDS)[:-10])
    assert contents(members)[:3] == RECORDS[:3]
    assert members.faults
    assert members.broken


def test_a_window_stays_small_for_a_long_member() -> None:
    members = opened(gzip.compress(b"x" * (8 << 20), mtime=0))
    assert members.next()
    longest = 0
    while members.more():
        longest = max(longest, len(members.data))
        members.pos = len(members.data)
    assert longest <= 2 << 20


@pytest.mark.parametrize(
    ("data", "starts"),
    [
        (zipped(RECORDS[0]), True),
        (gzip.compress(b"no record", mtime=0), False),
        (b"\x1f\x8b\x08", False),
    ],
)
def test_a_record_begins_here(data: bytes, starts: bool) -> None:
    assert starts_gzip_record(Raw(io.BytesIO(data))) is starts


@pytest.mark.parametrize(
    ("line", "begins"),
    [
        (b"WARC/1.1\r\n", True),
        (b"WARC/0.17\n", True),
        (b"http://a.example/ 192.0.2.1 20140102030405 text/html 120\n", True),
        (b"HTTP/1.1 200 OK\r\n", False),
    ],
)
def test_how_a_record_begins(line: bytes, begins: bool) -> None:
    assert bool(RECORD_START.match(line)) is begins


def test_whole_members_are_inflated_in_one_call() -> None:
    members = opened(zipped(*RECORDS))
    assert [members.next_whole() for _ in RECORDS] == RECORDS
    assert (members.end, members.ended) == (len(zipped(*RECORDS)), True)
    assert members.next_whole() is None


def test_what_lies_between_two_members_is_no_part_of_the_first() -> None:
    first, second = zipped(RECORDS[0]), zipped(RECORDS[1])
    for between in (first[1:], first[-8:], zipped(RECORDS[0][::-1])[1:], b"\0\0", b"x"):
        members = opened(first + between + second)
        assert members.next_whole() is None, between
        assert members.next()
        assert members.data == RECORDS[0]


def test_a_magic_number_inside_a_member_does_not_end_it() -> None:
    inner = gzip.compress(RECORDS[1], mtime=0)
    data = gzip.compress(RECORDS[0] + inner, 0, mtime=0)
    assert inner in data
    members = opened(data)
    assert members.next_whole() is None
    assert members.next()
    assert members.data == RECORDS[0] + inner
