"""Headers of stored records that pywb needs, also of damaged ones."""

import io

import pytest
from warcio.archiveiterator import ArchiveIterator

from webapp.replay.stored_records import complete_headers


@pytest.mark.parametrize(
    ("date", "shown"),
    [("2021", "2021-01-01T00:00:00Z"), ("today", "today"), ("2021-13-45", "2021-13-45")],
)
@pytest.mark.parametrize("length", ["Content-Length: 0\r\n", "Content-Length: many\r\n", ""])
def test_unreadable_headers_are_kept(date: str, shown: str, length: str) -> None:
    head = f"WARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\nWARC-Date: {date}\r\n"
    stored = f"WARC/1.1\r\n{head}{length}\r\n\r\n\r\n".encode()
    record = next(iter(ArchiveIterator(io.BytesIO(stored))))
    complete_headers(record)
    assert record.rec_headers.get_header("WARC-Date") == shown
    assert record.http_headers.get_statuscode() == "200"
