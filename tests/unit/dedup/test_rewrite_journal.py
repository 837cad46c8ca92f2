"""A run of dedup-warc that was killed goes on, and nothing else is written over."""

import os
from pathlib import Path

import pytest

from nwx.dedup.rewrite_journal import JOURNAL, Rewritten, rewrite_journal
from nwx.dedup.warc_rewrite import rewrite
from nwx.errors import SourceError
from nwx.warc.sources import ArchiveSource, expand
from tests.warcs import Page, html, write_warc

URL = "http://www.example.org/"
PAGES = [Page(URL, f"20{year}0101000000", html("A", "text " * 100)) for year in range(10, 14)]


@pytest.fixture
def sources(tmp_path: Path) -> list[ArchiveSource]:
    paths = [write_warc(tmp_path / f"{n}.warc.gz", [page]) for n, page in enumerate(PAGES)]
    return [one for one in expand(map(str, paths)) if isinstance(one, ArchiveSource)]


def covers(url: str, digest: str, timestamp: str) -> bool:
    del url, digest
    return timestamp != PAGES[0].timestamp


def rewritten(sources: list[ArchiveSource], folder: Path) -> list[Rewritten]:
    return list(rewrite(sources, covers, folder, lists=["list"]))


def test_a_run_that_was_killed_goes_on(tmp_path: Path, sources: list[ArchiveSource]) -> None:
    calm = {Path(one.output).name: one.bytes_after for one in rewritten(sources, tmp_path / "calm")}
    folder = tmp_path / "new"
    killed = rewrite(sources, covers, folder, lists=["list"])
    next(killed), next(killed)
    killed.close()  # type: ignore[attr-defined]
    (folder / "2.warc.gz").write_bytes(b"put in its place, but not noted any more")
    with (folder / JOURNAL).open("ab") as journal:
        journal.write(b'{"source_file": "2.war')
    before = {path.name: path.stat().st_ino for path in folder.glob("[01].warc.gz")}
    done = rewritten(sources, folder)
    assert {Path(one.output).name: one.bytes_after for one in done} == calm
    assert {path.name: path.stat().st_ino for path in folder.glob("[01].warc.gz")} == before
    assert {path.name: path.stat().st_size for path in folder.glob("*.gz")} == calm


def test_another_run_is_refused_in_the_folder(tmp_path: Path, sources: list[ArchiveSource]) -> None:
    folder = tmp_path / "new"
    killed = rewrite(sources, covers, folder, lists=["list"])
    next(killed)
    with pytest.raises(SourceError, match="another process"):
        rewritten(sources, folder)
    killed.close()  # type: ignore[attr-defined]
    with pytest.raises(SourceError, match="other files or lists"):
        list(rewrite(sources, covers, folder, lists=["other"]))
    assert len(rewritten(sources, folder)) == len(sources)
    with pytest.raises(SourceError, match="there already"):
        list(rewrite(sources, covers, folder, lists=["other"]))


def test_a_finished_run_is_recognised(tmp_path: Path, sources: list[ArchiveSource]) -> None:
    folder = tmp_path / "new"
    done = rewritten(sources, folder)
    before = {path.name: path.stat().st_ino for path in folder.glob("*.gz")}
    assert rewritten(sources, folder) == done
    assert {path.name: path.stat().st_ino for path in folder.glob("*.gz")} == before
    (folder / "1.warc.gz").unlink()
    assert rewritten(sources, folder) == done


def test_a_killed_run_is_not_taken_for_finished(
    tmp_path: Path, sources: list[ArchiveSource]
) -> None:
    folder = tmp_path / "new"
    list(rewrite(sources[:1], covers, folder, lists=["list"]))
    killed = rewrite(sources[1:], covers, folder, lists=["list"])
    next(killed)
    killed.close()  # type: ignore[attr-defined]
    with pytest.raises(SourceError, match="other files or lists"):
        rewritten(sources[2:], folder)


def test_file_names_need_be_no_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"crawl-\xff.warc.gz")
    write_warc(tmp_path / name, PAGES[:2])
    sources = [one for one in expand([str(tmp_path)]) if isinstance(one, ArchiveSource)]
    (report,) = rewritten(sources, tmp_path / "new")
    assert (report.revisits, report.left) == (1, ())
    assert rewritten(sources, tmp_path / "new") == [report]


def test_what_is_there_already_is_not_written_over(
    tmp_path: Path, sources: list[ArchiveSource]
) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "1.warc.gz").write_bytes(b"precious")
    for _ in range(2):
        with pytest.raises(SourceError, match="there already"):
            rewritten(sources, tmp_path / "new")
    assert (tmp_path / "new" / "1.warc.gz").read_bytes() == b"precious"


def test_a_file_that_was_changed_is_made_anew(tmp_path: Path) -> None:
    report = Rewritten("a", str(tmp_path / "a"), 0, 0, 9, 4)
    with rewrite_journal(tmp_path, []) as journal:
        journal.note(report)
    (tmp_path / "a").write_bytes(b"1234")
    (tmp_path / JOURNAL).write_bytes(b"[]\n")
    with rewrite_journal(tmp_path, []) as journal:
        assert journal.report_of(tmp_path / "a") is None
