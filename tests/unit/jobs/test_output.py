"""The output folder of a job names the job and shows whether it is complete."""

from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from nwx.errors import JobError, SourceError, UsageError
from nwx.jobs import output
from nwx.jobs.output import (
    SUCCESS,
    JobFolder,
    JobReport,
    OutputMode,
    PieceReport,
    ReportFolder,
    fsspec_address,
    open_output,
)
from nwx.model import ReadError


def _made(place: Path, **plan: object) -> None:
    output = open_output(str(place), "cdx", plan)
    output.folder.write("a.cdx", b"x")
    output.work.write("half", b"x")
    output.finish(JobReport("cdx"))


def test_output_is_marked_when_it_is_whole(tmp_path: Path) -> None:
    _made(tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").rglob("*"))
    assert names == [SUCCESS, "_nwx-job.json", "_report.json", "a.cdx"]
    output = open_output(str(tmp_path / "out"), "cdx", {}, OutputMode.RESUME)
    assert not output.folder.exists(SUCCESS)
    assert output.folder.exists("a.cdx")
    output.finish(JobReport("cdx", is_whole=False))
    assert not output.folder.exists(SUCCESS)


def test_what_is_there_is_refused_resumed_or_replaced(tmp_path: Path) -> None:
    place = str(tmp_path / "out")
    _made(Path(place), form="cdx11")
    with pytest.raises(UsageError, match="already exists; --resume goes on with it"):
        open_output(place, "cdx", {"form": "cdx11"}, can_resume=True)
    with pytest.raises(UsageError, match="already exists; --overwrite replaces it"):
        open_output(place, "cdx", {"form": "cdx11"})
    with pytest.raises(UsageError, match="made with another value of form"):
        open_output(place, "cdx", {"form": "cdxj"}, OutputMode.RESUME)
    output = open_output(place, "cdx", {}, OutputMode.OVERWRITE)
    assert output.folder.names() == ["_nwx-job.json"]


@pytest.mark.parametrize("mode", OutputMode)
def test_what_another_job_may_read_is_never_replaced(tmp_path: Path, mode: OutputMode) -> None:
    _made(tmp_path / "out")
    with pytest.raises(UsageError, match="made by the job cdx, not zipnum; name a new folder"):
        open_output(str(tmp_path / "out"), "zipnum", {}, mode)
    assert (tmp_path / "out" / "a.cdx").exists()


@pytest.mark.parametrize("mode", OutputMode)
def test_a_folder_of_others_is_never_touched(tmp_path: Path, mode: OutputMode) -> None:
    (tmp_path / "mine").write_text("x")
    with pytest.raises(UsageError, match="something that no job wrote"):
        open_output(str(tmp_path), "cdx", {}, mode)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


@pytest.mark.parametrize("content", ["{", "[]", "{}"])
def test_a_note_that_no_job_wrote_is_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "_nwx-job.json").write_text(content)
    with pytest.raises(UsageError, match="something that no job wrote"):
        open_output(str(tmp_path), "cdx", {}, OutputMode.OVERWRITE)


def _piece(kind: str, count: int = 1) -> PieceReport:
    piece = PieceReport()
    piece.counts["lines"] = 2
    piece.values["a"] = [1]
    piece.add_errors([ReadError("x.warc", 7, kind, "torn")] * count)
    return piece


def test_a_piece_that_is_done_twice_counts_once(tmp_path: Path) -> None:
    folder = ReportFolder(JobFolder(str(tmp_path)))
    assert folder.read() == {}
    for numbers in ((10, 11), (2,), (10, 11)):
        folder.write({number: _piece("gzip") for number in numbers})
    found = folder.read()
    assert list(found) == [2, 10, 11]
    del found[11]
    assert (found[2].counts, found[2].values) == ({"lines": 2}, {"a": [1]})
    job = JobReport("cdx")
    for piece in found.values():
        job.add(piece)
    assert (job.counts["lines"], job.errors_total, job.is_whole) == (4, 2, True)
    assert job.as_json()["errors"][0] == {
        "file": "x.warc",
        "offset": 7,
        "kind": "gzip",
        "message": "torn",
    }


def test_a_report_that_is_missing_is_noticed(tmp_path: Path) -> None:
    folder = ReportFolder(JobFolder(str(tmp_path)))
    folder.write({0: _piece("gzip"), 1: _piece("gzip")})
    assert list(folder.read_whole(2)) == [0, 1]
    with pytest.raises(JobError, match="1 of 3 reports are missing in"):
        folder.read_whole(3)


def test_what_was_not_read_is_not_whole_and_errors_are_listed_up_to_a_number() -> None:
    job = JobReport("cdx")
    job.add(_piece("crash", output.ERRORS_OF_A_JOB + 5))
    job.add_errors([ReadError("y.warc", None, "missing", "gone")])
    assert not job.is_whole
    assert len(job.errors) == output.ERRORS_OF_A_JOB
    assert job.errors_total == output.ERRORS_OF_A_JOB + 6


@pytest.fixture(params=["here", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> JobFolder:
    """A local folder, or one on an fsspec file system without a native rename."""
    return JobFolder(str(tmp_path) if request.param == "here" else f"memory:/{tmp_path}")


def test_files_are_written_listed_renamed_and_deleted(folder: JobFolder) -> None:
    inner = folder.inner("out")
    assert inner.is_empty()
    inner.write("a/b.cdx", b"b")
    inner.write("c", b"c")
    inner.write("c", b"new")
    assert inner.names() == ["a/b.cdx", "c"]
    assert inner.names("a") == ["a/b.cdx"]
    assert inner.names("none") == []
    assert inner.read("c") == b"new"
    inner.rename("c", "a/b.cdx")
    assert (inner.names(), inner.read("a/b.cdx")) == (["a/b.cdx"], b"new")
    inner.delete("none")
    inner.delete("a")
    assert not inner.exists("a/b.cdx")


def test_a_file_that_fails_does_not_appear_and_one_there_stays(folder: JobFolder) -> None:
    folder.write("kept", b"old")
    for name in ("kept", "new"):
        with pytest.raises(ZeroDivisionError), folder.new_file(name) as stream:
            stream.write(b"half")
            raise ZeroDivisionError
    assert (folder.names(), folder.read("kept")) == (["kept"], b"old")


def test_a_file_of_that_name_is_replaced_also_where_a_rename_refuses(
    folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(self: MemoryFileSystem, path: str, target: str) -> None:
        if self.exists(target):
            raise FileExistsError(target)
        self.copy(path, target)
        self.rm(path)

    monkeypatch.setattr(MemoryFileSystem, "mv", refusing)
    folder.write("new", b"new")
    folder.write("old", b"old")
    folder.rename("new", "old")
    assert (folder.names(), folder.read("old")) == (["old"], b"new")


def test_what_cannot_be_written_fails_the_job_and_what_cannot_be_read_does_not(
    folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourceError, match="503"), folder.new_file("a"):
        raise SourceError("503")

    def full(*given: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(MemoryFileSystem, "_open", full)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(JobError, match="a cannot be written: No space left"):
        folder.write("a", b"a")


def test_failures_name_the_file(folder: JobFolder) -> None:
    with pytest.raises(SourceError, match=r"none cannot be read"):
        folder.read("none")
    with pytest.raises(SourceError, match="cannot be looked up"):
        JobFolder("nosuch://bucket/x").exists()


def test_addresses_of_hadoop_are_known() -> None:
    assert fsspec_address("s3a://bucket/x") == "s3://bucket/x"
    assert fsspec_address("hdfs://node/x") == "hdfs://node/x"
    assert fsspec_address("/a/s3a") == "/a/s3a"
