"""One stored record."""

import hashlib

from nwx.values.http import NO_HEAD, Fields
from nwx.warc.record import Record

BLOCK = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/html\r\n\r\n<p>gone</p>"


def record(kind: str = "response", url: bytes = b"http://a.example/") -> Record:
    made = Record(kind, "WARC/1.1", Fields(b"\nWARC-Target-URI: " + url + b"\r\n"), 7)
    made.block, made.block_length = BLOCK, len(BLOCK)
    return made


def test_the_body_stands_behind_the_http_head() -> None:
    assert record().body() == b"<p>gone</p>"
    assert record().http_head().size == len(BLOCK) - 11


def test_only_what_http_brought_has_a_head() -> None:
    assert record("resource").http_head() is NO_HEAD
    assert record(url=b"dns:a.example").http_head() is NO_HEAD
    assert bytes(record("resource").body()) == BLOCK


def test_digests_of_a_block_that_is_kept() -> None:
    assert record().digest("sha1") == hashlib.sha1(BLOCK).digest()
    assert record().digest("sha256", 5) == hashlib.sha256(BLOCK[5:]).digest()


def test_digests_of_a_block_that_went_by_have_to_be_asked_for() -> None:
    long = record()
    long.block_length += 1
    assert not long.kept_whole
    assert long.digest("sha1") is None
    long.ask("sha1", 0)
    assert long.hashers is not None
    long.hashers["sha1", 0].update(b"x")
    assert long.digest("sha1") == hashlib.sha1(BLOCK + b"x").digest()
