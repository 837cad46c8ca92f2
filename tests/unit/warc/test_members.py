"""Members of stored files, whatever their compression."""

import io

import pytest
import zstandard

from nwx.warc.members import Members, open_members
from tests.unit.warc.stored_files import Piped, pages, zipped

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
