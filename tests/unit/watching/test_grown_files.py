"""Files that have more at their end than when they were imported."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.open import open_engine
from nwx.model import Batch, SourceFile
from nwx.settings import Settings
from nwx.warc.sources import ArchiveSource, checksum_of_start
from nwx.watching.grown_files import read_grown_again
from tests.warcs import Page, html, write_warc

PAGES = [Page(f"http://a.example/{n}", "20150101000000", html("A", f"text {n}")) for n in range(3)]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(Settings(engine=str(tmp_path / "archive"))) as opened:
        yield opened


def _source(path: Path) -> ArchiveSource:
    return ArchiveSource(path.name, str(path), path.stat().st_size)


def _imported(path: Path) -> SourceFile:
    source = _source(path)
    size = path.stat().st_size
    content = checksum_of_start(source, size)
    return SourceFile("web", path.name, str(path), size, content, size, finished=True)


def test_a_file_with_more_at_its_end_is_not_done(engine: Engine, tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.gz", PAGES[:2])
    entry = _imported(path)
    engine.write(Batch(files=(entry,)))
    write_warc(path, PAGES)
    read_grown_again(engine, [_source(path)], {entry.name: entry})
    engine.refresh()
    (found,) = engine.files()
    assert (found.finished, found.done_to, found.size) == (False, 0, path.stat().st_size)
    assert found.checksum != entry.checksum


@pytest.mark.parametrize("change", ["none", "other content", "moved", "unknown"])
def test_other_files_stay_as_they_are(engine: Engine, tmp_path: Path, change: str) -> None:
    path = write_warc(tmp_path / "a.warc.gz", PAGES[:2])
    entry = _imported(path)
    if change == "other content":
        write_warc(path, PAGES[::-1])
    elif change != "none":
        write_warc(path, PAGES)
    if change == "moved":
        entry = replace(entry, path="/elsewhere/a.warc.gz")
    engine.write(Batch(files=(entry,)))
    ledger = {} if change == "unknown" else {entry.name: entry}
    read_grown_again(engine, [_source(path)], ledger)
    engine.refresh()
    assert engine.files() == [entry]
