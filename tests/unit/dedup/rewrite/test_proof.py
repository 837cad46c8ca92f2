"""A file written anew is proved to replay to the payloads of the old one."""

from pathlib import Path

import pytest

from nwx.dedup.rewrite.proof import location_of, prove, replayed_captures
from nwx.errors import FormatError
from nwx.warc.sources import ArchiveSource
from tests.warcs import Page, html, write_warc

FIRST = Page("http://a.example/", "20200101000000", html("Home", "text"))
SECOND = Page("http://a.example/", "20210101000000", html("Home", "text"))
OTHER = Page("http://a.example/", "20210101000000", html("Home", "other"))


def source(path: Path, *pages: Page) -> ArchiveSource:
    written = write_warc(path, list(pages))
    return ArchiveSource(written.name, str(written), written.stat().st_size)


def test_a_copy_is_proved(tmp_path: Path) -> None:
    old = source(tmp_path / "a.warc.gz", FIRST, SECOND)
    (tmp_path / "b.warc.gz").write_bytes((tmp_path / "a.warc.gz").read_bytes())
    prove(old, tmp_path / "b.warc.gz", lambda *_: None)


@pytest.mark.parametrize("pages", [(FIRST,), (FIRST, OTHER), (SECOND, FIRST)])
def test_other_captures_are_no_proof(tmp_path: Path, pages: tuple[Page, ...]) -> None:
    old = source(tmp_path / "a.warc.gz", FIRST, SECOND)
    new = source(tmp_path / "b.warc.gz", *pages)
    with pytest.raises(FormatError, match="the capture at"):
        prove(old, Path(new.path), lambda *_: None)


def test_captures_are_located_in_their_file(tmp_path: Path) -> None:
    old = source(tmp_path / "a.warc.gz", FIRST, SECOND)
    first, second = replayed_captures(old)
    place = location_of(old.path, second)
    assert (place.path, place.url, place.timestamp) == (old.path, SECOND.url, "20210101000000")
    assert place.offset > first.source_file_offset
