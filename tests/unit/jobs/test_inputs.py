"""Inputs of jobs."""

import gzip
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest

from nwx.cdx.inputs import CdxSource, FilePiece, ReadTask
from nwx.errors import SourceError, UsageError
from nwx.jobs.inputs import (
    add_readings,
    archive_inputs,
    cdx_tasks,
    documents_inputs,
    in_one_piece,
    is_cdx_name,
    task_is_far,
    task_lines,
    task_name,
)
from nwx.jobs.output import JobReport, PieceReport
from nwx.jobs.pieces import UnreachableError
from tests.documents_files import write_documents
from tests.warcs import many_pages, write_warc


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of three archive files, two of them in subfolders."""
    for name in ("a.warc.gz", "x/b.warc.gz", "x/y/c.warc.gz"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write_warc(tmp_path / name, many_pages(1))
    return tmp_path


def _names(*arguments: object) -> list[str]:
    return [source.name for source in archive_inputs([*map(str, arguments)]).sources]


def test_folders_globs_files_and_manifests(folder: Path) -> None:
    everything = ["a.warc.gz", "b.warc.gz", "c.warc.gz"]
    assert _names(folder) == everything
    assert _names(folder / "**/*.gz", folder / "a.warc.gz") == everything
    (folder / "list").write_text("a.warc.gz\nx/b.warc.gz\ngone.warc\n")
    found = archive_inputs([f"@{folder}/list"])
    assert [source.name for source in found.sources] == everything[:2]
    assert [error.kind for error in found.errors] == ["missing"]


def test_the_base_is_what_all_have_in_common(folder: Path) -> None:
    def base(*names: str) -> str:
        return archive_inputs([str(folder / name) for name in names]).base

    assert base("") == str(folder)
    assert base("x") == base("x/*/*.gz", "x/b.warc.gz") == str(folder / "x")
    assert base("x/y/c.warc.gz") == str(folder / "x" / "y")
    assert base("x/y", "a.warc.gz") == str(folder)
    assert archive_inputs([str(folder / "none.warc")]).base == ""


def test_folders_and_globs_of_other_file_systems(folder: Path) -> None:
    place = f"memory://{folder}"
    for name in ("x/a.warc.gz", "x/y/b.warc.gz", "x/notes.txt", "x/c.cdx", "x/d.cdx"):
        with fsspec.open(f"{place}/{name}", "wb") as stream:
            stream.write(b"com,a)/ 20200101000000 x\n")
    found = archive_inputs([f"{place}/x"])
    assert [source.name for source in found.sources] == ["a.warc.gz", "b.warc.gz"]
    assert found.base == f"{place}/x"
    assert archive_inputs([f"{place}/x/*.gz"]).sources == found.sources[:1]
    assert archive_inputs([f"{place}/x/*"]).sources[-1:] == found.sources[1:]
    assert archive_inputs([f"{place}/[x]"]).sources == found.sources
    (folder / "list").write_text(f"{place}/x/a.warc.gz\n{place}/x/y/b.warc.gz\n")
    assert archive_inputs([f"@{folder}/list"]) == found
    (task,) = cdx_tasks([f"{place}/x"])
    assert [piece.source.path for piece in task.pieces] == [f"{place}/x/c.cdx", f"{place}/x/d.cdx"]
    with pytest.raises(SourceError, match="there is nothing to read in memory:"):
        archive_inputs([f"{place}/none"])


def test_files_of_lines(tmp_path: Path) -> None:
    (tmp_path / "a.cdx").write_bytes(b"x\n" * 9_000_000)
    (tmp_path / "b.cdxj.gz").write_bytes(gzip.compress(b"x\n"))
    (tmp_path / "c.txt").write_bytes(b"x\n")
    tasks = cdx_tasks([str(tmp_path)])
    assert [task.number for task in tasks] == [0, 1, 2]
    pieces = [piece for task in tasks for piece in task.pieces]
    assert [(Path(each.source.path).name, each.end) for each in pieces] == [
        ("a.cdx", 8 << 20),
        ("a.cdx", 16 << 20),
        ("a.cdx", 18_000_000),
        ("b.cdxj.gz", None),
    ]
    (tmp_path / "list").write_text(f"# lines\n{tmp_path}/c.txt\n")
    (task,) = cdx_tasks([f"@{tmp_path}/list"])
    assert task.pieces[0].source.path == str(tmp_path / "c.txt")
    with pytest.raises(SourceError, match=r"none\.cdx cannot be opened"):
        cdx_tasks([str(tmp_path / "none.cdx")])
    with pytest.raises(SourceError, match="the manifest none cannot be read"):
        cdx_tasks(["@none"])
    assert (
        is_cdx_name("a.cdx") and is_cdx_name("s3://a/b.CDXJ.zst") and not is_cdx_name("a.cdx.md5")
    )


@pytest.mark.parametrize("read", [archive_inputs, cdx_tasks])
def test_nothing_and_standard_input_are_refused(read: object) -> None:
    assert callable(read)
    with pytest.raises(UsageError, match="there is nothing to read"):
        read([])
    with pytest.raises(UsageError, match="cannot read standard input"):
        read(["-"])


def test_a_file_of_several_layouts_is_read_where_it_begins() -> None:
    other, cut = CdxSource("other.cdx"), CdxSource("cut.cdx")
    tasks = [
        ReadTask(0, (FilePiece(other), FilePiece(cut, 0, 10)), 20),
        ReadTask(1, (FilePiece(cut, 10, 20),), 10),
        ReadTask(2, (FilePiece(cut, 20, 30), FilePiece(other)), 20),
    ]
    found = in_one_piece(tasks, "cut.cdx")
    assert [task.number for task in found] == [0, 1]
    assert found[0].pieces == (FilePiece(other), FilePiece(cut))
    assert found[1].pieces == (FilePiece(other),)


LINE = b"com,a)/ 20200101000000 http://a.com/ text/html 200 X - - 1 2 a.warc\n"


def test_broken_lines_have_the_number_in_their_file(tmp_path: Path) -> None:
    path = tmp_path / "a.cdx"
    path.write_bytes(LINE * 3 + b"bad\n" + LINE * 2 + b"worse\n" + LINE)
    source, cut = CdxSource(str(path)), 3 * len(LINE) + 1
    tasks = [
        ReadTask(0, (FilePiece(source, 0, cut),), cut),
        ReadTask(1, (FilePiece(source, cut, path.stat().st_size),), 1),
    ]
    reports = {task.number: PieceReport() for task in tasks}
    lines = [
        line for task in tasks for batch in task_lines(task, reports[task.number]) for line in batch
    ]
    assert lines == [LINE.strip()] * 6
    job = JobReport("zipnum")
    add_readings(job, tasks, reports)
    assert [error.message.partition(":")[0] for error in job.errors] == ["line 4", "line 7"]
    assert (job.errors_total, job.is_whole) == (2, True)
    assert task_name(tasks[0]) == str(path)


def test_a_torn_file_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "a.cdx.gz"
    path.write_bytes(gzip.compress(LINE) + gzip.compress(LINE)[:-9])
    task = ReadTask(0, (FilePiece(CdxSource(str(path))),), 1)
    report, job = PieceReport(), JobReport("zipnum")
    assert [line for batch in task_lines(task, report) for line in batch][:1] == [LINE.strip()]
    add_readings(job, [task], {0: report})
    assert [(error.file, error.kind) for error in job.errors] == [(str(path), "damage")]
    assert job.is_whole


def test_what_cannot_be_opened(tmp_path: Path) -> None:
    task = ReadTask(0, (FilePiece(CdxSource(str(tmp_path / "none"))),), 1)
    with pytest.raises(SourceError, match="none cannot be opened"):
        list(task_lines(task, PieceReport()))
    far = replace(task, pieces=(FilePiece(CdxSource("memory://none/x.cdx")),))
    assert task_is_far(far) and not task_is_far(task)
    with pytest.raises(UnreachableError, match=r"none/x\.cdx cannot be opened"):
        list(task_lines(far, PieceReport()))


def test_documents_files_are_whole(tmp_path: Path) -> None:
    warc = write_warc(tmp_path / "a.warc.gz", many_pages(2))
    folder = write_documents(tmp_path / "documents", [warc])
    path = str(folder / "a.warc.gz.parquet")
    assert documents_inputs([str(folder), path]) == [path]
    (folder / "_SUCCESS").unlink()
    with pytest.raises(SourceError, match="has no _SUCCESS"):
        documents_inputs([str(folder)])
    with pytest.raises(SourceError, match="has no _SUCCESS"):
        documents_inputs(["memory://none/documents"])
