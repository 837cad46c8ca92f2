"""A record at its place in a stored file."""

import gzip
import io

import pytest
import zstandard

from nwx.warc.placed_record import is_damaged, record_at
from tests.unit.warc.stored_files import pages, read, zipped

RECORDS = pages(4)
FILES = {
    "gzip": zipped(*RECORDS),
    "plain": b"".join(RECORDS),
    "zstd": b"".join(map(zstandard.compress, RECORDS)),
    "one member": gzip.compress(b"".join(RECORDS), mtime=0),
}


@pytest.mark.parametrize("kind", FILES)
def test_each_capture_is_found_again_at_its_place(kind: str) -> None:
    captures, _ = read(FILES[kind])
    assert len(captures) == 4
    for number, found in enumerate(captures):
        record = record_at(io.BytesIO(FILES[kind]), found.capture.source_file_offset)
        assert record is not None
        assert record.read().startswith(RECORDS[number])
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
    record = record_at(io.BytesIO(zipped(RECORDS[0])[:-20]), 0)
    assert record is not None
    assert RECORDS[0].startswith(record.read())
    assert is_damaged(record)
