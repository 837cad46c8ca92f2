"""Write batches of OutbackCDX, byte by byte."""

import base64

import pytest

from nwx.cdx.rows import CdxRow
from nwx.cdxserver.write_batches import (
    AliasChange,
    BatchChange,
    CaptureChange,
    CaptureKey,
    read_batch,
    write_batch,
)
from nwx.errors import FormatError

DIGEST = "sha1:HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43"
ROW = CdxRow(
    *("example,a)/", "20200102030405", "http://a.example/", "text/html", "200", DIGEST),
    *("-", "-", "300", "77", "A 1.warc.gz"),
)
KEY = b"example,a)/" + (20200102030405).to_bytes(8, "big")
URL = b"\x11http://a.example/"  # its length, then the text
STATUS = b"\xc8\x01"  # 200: 0x48 with more to come, then 1 times 128
MIME = b"\x09text/html"
LENGTH = b"\xac\x02"  # 300
SHA1 = b"\x14" + base64.b32decode(DIGEST[5:])
FILE, OFFSET = b"\x0bA 1.warc.gz", b"\x4d"
REDIRECT = FLAGS = b"\x01-"
UNKNOWN = b"\xff" * 9 + b"\x01"  # -1 as 64 bits
ORIGINAL = UNKNOWN + b"\x01-" + UNKNOWN  # of a revisit: length, file, offset
START = URL + STATUS + MIME + LENGTH + SHA1
VALUE_3 = b"\x03" + START + FILE + OFFSET + REDIRECT + FLAGS + ORIGINAL
VALUE_4 = b"\x04" + START + REDIRECT + FLAGS + ORIGINAL
KEY_4 = KEY + b"\0A 1.warc.gz\0" + (77).to_bytes(8, "big")
HEAD = (5).to_bytes(8, "little")  # the sequence number; then the number of records
TOLD, PLACED = CaptureKey(*ROW[:2]), CaptureKey(*ROW[:2], "77", "A 1.warc.gz")


def sized(raw: bytes) -> bytes:
    size = len(raw)
    return (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + raw


def batch(*records: bytes) -> bytes:
    return HEAD + len(records).to_bytes(4, "little") + b"".join(records)


PUT_3 = b"\x01" + sized(KEY) + sized(VALUE_3)
PUT_4 = b"\x01" + sized(KEY_4) + sized(VALUE_4)
DELETE_3, DELETE_4 = b"\x00" + sized(KEY), b"\x00" + sized(KEY_4)
PUT_ALIAS, DELETE_ALIAS = b"\x05\x01\x03b)/\x0bexample,a)/", b"\x04\x01\x03b)/"
ALIASES = (AliasChange("b)/", "example,a)/"), AliasChange("b)/", ""))


@pytest.mark.parametrize(
    ("version", "key", "data"),
    [
        (3, TOLD, batch(PUT_3, DELETE_3, PUT_ALIAS, DELETE_ALIAS)),
        (4, PLACED, batch(PUT_4, DELETE_4, PUT_ALIAS, DELETE_ALIAS)),
    ],
)
def test_batches_are_written_and_read(version: int, key: CaptureKey, data: bytes) -> None:
    changes: list[BatchChange] = [CaptureChange(PLACED, ROW), CaptureChange(PLACED, None), *ALIASES]
    assert write_batch(5, changes, version) == data
    assert list(read_batch(data)) == [CaptureChange(key, ROW), CaptureChange(key, None), *ALIASES]


def test_missing_values_and_older_versions_are_read() -> None:
    missing = b"\x02" + URL + b"\0" + b"\x01-" + UNKNOWN + b"\0" + FILE + OFFSET + REDIRECT + FLAGS
    oldest = b"\x00" + URL + STATUS + MIME + LENGTH + b"\x01-" + FILE + OFFSET + REDIRECT
    rows = [
        change.row
        for value in (missing, oldest)
        for change in read_batch(batch(b"\x01" + sized(KEY) + sized(value)))
        if isinstance(change, CaptureChange)
    ]
    nothing = dict.fromkeys(("mime", "status", "digest", "length"), "-")
    assert rows == [ROW._replace(**nothing), ROW._replace(digest="-")]


def test_what_is_no_capture_or_alias_is_passed_over() -> None:
    sequence = b"\x01" + sized(b"#ReplicationSequence") + sized(b"17")
    rule = b"\x05\x02" + sized(b"12345678") + sized(b"{}")
    notes = b"\x03" + sized(b"a note") + b"\x0d"  # neither counts as a record
    assert list(read_batch(batch(sequence, rule) + notes)) == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"short", "too short"),
        (batch(PUT_3)[:-1], "cut off"),
        (batch(b"\x01"), "cut off"),
        (batch(b"\x0f" + sized(b"a") + sized(b"b")), "type 15"),
        (batch(PUT_3) + DELETE_3, "2 records instead of the declared 1"),
        (batch(b"\x00" + sized(b"12345678")), "8 bytes"),
        (batch(b"\x00" + sized(b"\0" + b"12345678")), "no file name"),
        (batch(b"\x01" + sized(KEY) + sized(b"\x05")), "index version 5"),
        (batch(b"\x01" + b"\xff" * 11), "64 bits"),
    ],
)
def test_other_bytes_are_refused(data: bytes, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        list(read_batch(data))


def test_urls_of_other_letters_are_written_as_outbackcdx_reads_them() -> None:
    row = ROW._replace(url="http://a.example/é", digest="sha256:" + "ab" * 32)
    (found,) = read_batch(write_batch(1, [CaptureChange(TOLD, row)], 3))
    assert found == CaptureChange(TOLD, row._replace(url="http://a.example/%C3%A9"))
