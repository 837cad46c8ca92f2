"""Files that have grown."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.engine.base import Engine, open_engine
from nwx.model import Batch, SourceFile
from nwx.settings import Settings
from nwx.warc.checksums import checksum_of_start
from nwx.warc.sources import ArchiveSource
from nwx.watching.folders import Folders
from nwx.watching.grown_files import grown_sources, read_grown_again
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


@pytest.mark.parametrize("change", ["none", "other content", "moved", "unknown", "unfinished"])
def test_other_files_stay_as_they_are(engine: Engine, tmp_path: Path, change: str) -> None:
    path = write_warc(tmp_path / "a.warc.gz", PAGES[:2])
    entry = _imported(path)
    if change == "other content":
        write_warc(path, PAGES[::-1])
    elif change != "none":
        write_warc(path, PAGES)
    if change == "moved":
        entry = replace(entry, path="/elsewhere/a.warc.gz")
    if change == "unfinished":
        entry = replace(entry, finished=False)
    engine.write(Batch(files=(entry,)))
    ledger = {} if change == "unknown" else {entry.name: entry}
    read_grown_again(engine, [_source(path)], ledger)
    engine.refresh()
    assert engine.files() == [entry]


def test_only_what_is_new_in_a_growing_file_is_read(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "a.warc.gz", PAGES[:2])
    folders = Folders([tmp_path], 3_600)
    entry = replace(_imported(path), finished=False)
    write_warc(path, PAGES)
    folders.look()
    folders.look()
    (source,) = grown_sources(folders, (), {entry.name: entry})
    assert (source.size, source.growing) == (path.stat().st_size, True)
    assert grown_sources(folders, (path,), {}) == []
    finished = replace(entry, finished=True)
    folders.look()
    assert grown_sources(folders, (), {entry.name: finished}) == []
    assert folders.growing() == []
