"""The complete part of a file that is being written."""

import gzip
from itertools import accumulate
from pathlib import Path

import pytest

from nwx.warc.sources import ArchiveSource
from nwx.watching.grown_files import grown_source
from tests.warcs import Page, html, warc_record

PAGES = [Page(f"http://a.example/{n}", "20150101000000", html("A", f"text {n}")) for n in range(3)]


def grown(path: Path, content: bytes, start: int = 0, *, is_quiet: bool = True) -> int:
    """Return the complete length of a file, -1 if it has not grown."""
    path.write_bytes(content)
    source = ArchiveSource("a.warc.gz", str(path), len(content))
    found = grown_source(source, start, is_quiet=is_quiet)
    assert found is None or found.growing
    return found.size or 0 if found else -1


@pytest.mark.parametrize("compressed", [True, False])
def test_a_file_is_read_up_to_its_last_complete_record(tmp_path: Path, compressed: bool) -> None:
    records = [warc_record(page) for page in PAGES]
    stored = [gzip.compress(one) if compressed else one for one in records]
    ends = list(accumulate(map(len, stored)))
    tail = 0 if compressed else len(b"\r\n\r\n")  # a record's end may arrive with the next one
    whole, path = b"".join(stored), tmp_path / "a"
    for cut in range(0, len(whole) + 1, 5):
        complete = sum(end - tail <= cut for end in ends)
        last = ends[complete - 1] - tail if complete else -1
        before = ends[complete - 2] if complete > 1 else -1
        assert grown(path, whole[:cut]) == last
        assert grown(path, whole[:cut], is_quiet=False) in (before, last)
    assert grown(path, whole, ends[0], is_quiet=False) == ends[1]
    assert grown(path, whole, ends[-1]) == -1


def test_a_member_of_several_records_is_left_until_the_file_is_closed(tmp_path: Path) -> None:
    members = [gzip.compress(b"".join(warc_record(page) for page in PAGES)) for _ in range(2)]
    assert grown(tmp_path / "a", b"".join(members)) == -1


def test_damage_ends_the_reading(tmp_path: Path) -> None:
    first, second, third = (gzip.compress(warc_record(page)) for page in PAGES)
    damaged = second[:20] + b"damage" + second[26:]
    assert grown(tmp_path / "a", first + damaged + third) == len(first)
    assert grown(tmp_path / "a", first + bytes(9_000)) == len(first)
    assert grown(tmp_path / "a", bytes(9_000)) == -1
