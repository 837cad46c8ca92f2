"""Archive files to read, and the locations of imported ones."""

import builtins
import gzip
import io
import os
import pickle
import sys
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest

from nwx.errors import SourceError
from nwx.model import ReadError, SourceFile
from nwx.warc import sources
from nwx.warc.checksums import checksum
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import (
    LONGEST_NAME_BYTES,
    ArchiveSource,
    FileError,
    FilePlaces,
    expand,
    is_present,
    source_name,
)
from tests.conformance.archive import capture
from tests.unit.warc.stored_files import pages, zipped

DATA = zipped(*pages(2))
HELD = capture("http://a.example/", source_file="a.warc.gz", collection="web")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of archive files and others, used as the current directory."""
    for name in ("b.warc.gz", "a.arc", "deep/er/c.warc", "deep/d.WARC.GZ", "deep/e.warc.zst"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(DATA)
    for name in ("notes.txt", "a.cdx", "warc", "x.warc.gz.open", "page.html"):
        (tmp_path / name).write_bytes(b"")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _names(*arguments: str, **options: object) -> list[str]:
    found = list(expand(arguments, **options))  # type: ignore[arg-type]
    assert all(isinstance(source, ArchiveSource) for source in found), found
    return [source.name for source in found if isinstance(source, ArchiveSource)]


def test_a_folder_gives_all_archive_files_below_it_in_order(folder: Path) -> None:
    assert _names(".") == ["a.arc", "b.warc.gz", "d.WARC.GZ", "e.warc.zst", "c.warc"]
    assert _names("deep") == ["d.WARC.GZ", "e.warc.zst", "c.warc"]


def test_globs_are_for_shells_that_leave_them_alone(folder: Path) -> None:
    assert _names("*.warc.gz") == ["b.warc.gz"]
    assert _names("**/*.warc*") == ["b.warc.gz", "e.warc.zst", "c.warc", "x.warc.gz.open"]
    assert _names("d??p") == ["d.WARC.GZ", "e.warc.zst", "c.warc"]


def test_a_file_whose_name_looks_like_a_glob_is_that_file(folder: Path) -> None:
    (folder / "a[1].warc").write_bytes(DATA)
    assert _names("a[1].warc") == ["a[1].warc"]


def test_every_path_comes_once(folder: Path) -> None:
    (folder / "link.warc").symlink_to(folder / "a.arc")
    assert _names("a.arc", "./a.arc", str(folder / "a.arc"), "link.warc", "*.arc") == ["a.arc"]


def test_a_file_named_itself_may_be_called_anything(folder: Path) -> None:
    assert _names("notes.txt") == ["notes.txt"]


def test_a_manifest_names_arguments_a_line(folder: Path) -> None:
    (folder / "list").write_text("# what to read\n\n a.arc \ndeep\n*.gz\n")
    expected = ["a.arc", "d.WARC.GZ", "e.warc.zst", "c.warc", "b.warc.gz"]
    assert _names("@list") == _names(manifests=["list"]) == expected


def test_paths_in_a_manifest_may_count_from_it(folder: Path) -> None:
    (folder / "deep" / "list").write_text("er/c.warc\n")
    assert _names("@deep/list") == ["c.warc"]


@pytest.mark.parametrize("argument", ["gone.warc", "gone/*.warc", "@gone", "gone.wacz"])
def test_what_is_missing_is_an_error_that_names_it(folder: Path, argument: str) -> None:
    found = list(expand([argument, "a.arc"]))
    assert isinstance(found[0], ReadError)
    assert "gone" in found[0].message
    assert isinstance(found[1], ArchiveSource)


@pytest.mark.parametrize("argument", ["folder", "folder/*", "@list", "folde?"])
def test_what_names_no_archive_files_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder" / "below").mkdir(parents=True)
    (tmp_path / "folder" / "below" / "notes.txt").touch()
    (tmp_path / "list").write_text("# nothing\n\n")
    (error,) = expand([argument])
    assert isinstance(error, ReadError)
    assert error.file == argument.removeprefix("@")
    assert error.kind == "missing"


def test_folders_that_cannot_be_read_are_errors(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.scandir

    def closed(path: str) -> object:
        if str(path).endswith("er"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", closed)
    *sources, error = expand(["deep"])
    assert [source.name for source in sources if isinstance(source, ArchiveSource)] == [
        "d.WARC.GZ",
        "e.warc.zst",
    ]
    assert isinstance(error, ReadError)
    assert "deep/er cannot be read: Permission denied" in error.message
    (error,) = expand(["deep/er"])
    assert isinstance(error, ReadError)
    assert error.kind == "open"


@pytest.mark.parametrize("name", ["x.warc", "x.warc.gz", "x.wacz"])
@pytest.mark.parametrize("kind", ["a named pipe", "a device"])
def test_what_is_no_regular_file_is_an_error_at_once(tmp_path: Path, name: str, kind: str) -> None:
    path = tmp_path / name
    if kind == "a device":
        path.symlink_to("/dev/zero")
    else:
        os.mkfifo(path)
    for argument in (str(path), str(tmp_path)):
        (error,) = expand([argument])
        assert isinstance(error, ReadError)
        assert "not a regular file" in error.message
    source = ArchiveSource(name, str(path), 1)
    with pytest.raises(SourceError, match="not a regular file"):
        source.open()
    with pytest.raises(SourceError, match="not a regular file"):
        checksum(source)


def test_standard_input_has_a_name_of_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(DATA)

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert _names("-") == ["stdin"]
    (source,) = expand(["-"], stdin_name="crawl.warc.gz")
    assert isinstance(source, ArchiveSource)
    assert (source.name, source.size, checksum(source)) == ("crawl.warc.gz", None, "")
    found = list(ArchiveReader(source, "test"))
    assert [item.capture.source_file for item in found if isinstance(item, CaptureRecord)] == [
        "crawl.warc.gz"
    ] * 2


def _wacz(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/b.warc.gz", DATA)
        archive.writestr("archive/a.warc.gz", zipped(*pages(3)))


def test_a_wacz_gives_a_source_for_each_warc_inside(tmp_path: Path) -> None:
    _wacz(tmp_path / "x.wacz")
    sources = list(expand([str(tmp_path)]))
    assert all(isinstance(source, ArchiveSource) for source in sources)
    assert [source.name for source in sources if isinstance(source, ArchiveSource)] == [
        "x.wacz#archive/a.warc.gz",
        "x.wacz#archive/b.warc.gz",
    ]
    counts = [len(list(ArchiveReader(s, "test"))) for s in sources if isinstance(s, ArchiveSource)]
    assert counts == [3, 2]
    assert [s.size for s in sources if isinstance(s, ArchiveSource)] == [
        len(zipped(*pages(3))),
        len(DATA),
    ]


def test_reading_resumes_inside_a_wacz(tmp_path: Path) -> None:
    _wacz(tmp_path / "x.wacz")
    source = next(iter(expand([str(tmp_path)])))
    assert isinstance(source, ArchiveSource)
    first = next(iter(ArchiveReader(source, "test")))
    assert isinstance(first, CaptureRecord)
    assert len(list(ArchiveReader(source, "test", start=first.resume_at))) == 2


def test_a_broken_wacz_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "x.wacz").write_bytes(b"no zip")
    (error,) = expand([str(tmp_path)])
    assert isinstance(error, FileError)
    assert (error.file, error.kind) == ("x.wacz", "wacz")
    assert (error.path, error.size) == (str(tmp_path / "x.wacz"), len(b"no zip"))
    assert error.is_refused


def test_what_is_wrong_with_a_wacz_that_is_read_refuses_nothing(tmp_path: Path) -> None:
    _wacz(tmp_path / "x.wacz")
    with zipfile.ZipFile(tmp_path / "x.wacz", "a") as archive:
        archive.writestr("datapackage.json", '{"resources": [{"path": "archive/gone.warc"}]}')
        archive.writestr("archive/../c.warc", DATA)
    errors = [error for error in expand([str(tmp_path)]) if isinstance(error, FileError)]
    assert [(error.file, error.is_refused) for error in errors] == [
        ("x.wacz", False),
        ("x.wacz#archive/../c.warc", True),
    ]


def test_the_warcs_of_a_wacz_in_a_wacz_are_sources(tmp_path: Path) -> None:
    _wacz(tmp_path / "x.wacz")
    inner = (tmp_path / "x.wacz").read_bytes()
    with zipfile.ZipFile(tmp_path / "y.wacz", "w") as archive:
        archive.writestr("x.wacz", inner)
    sources = list(expand([str(tmp_path / "y.wacz")]))
    assert all(isinstance(source, ArchiveSource) for source in sources)
    for source, count in zip(sources, [3, 2], strict=True):
        assert isinstance(source, ArchiveSource)
        assert source.name.startswith("y.wacz#x.wacz#archive/")
        for same in (source, replace(source, places=()), pickle.loads(pickle.dumps(source))):
            assert len(list(ArchiveReader(same, "test"))) == count
            assert checksum(same) == checksum(source)


def test_sources_go_to_other_processes(folder: Path) -> None:
    (source,) = expand(["a.arc"])
    assert pickle.loads(pickle.dumps(source)) == source


def test_long_names_are_cut_and_stay_apart() -> None:
    first, second = source_name("ä" * 300 + ".warc.gz"), source_name("ä" * 301 + ".warc.gz")
    assert first != second
    for name in (first, second):
        assert len(name.encode()) <= LONGEST_NAME_BYTES
        assert name.startswith("ä" * 150)
    assert source_name("short.warc.gz") == "short.warc.gz"
    assert source_name(os.fsdecode(b"\xff.warc")) == "\ufffd.warc"


def test_the_checksum_inside_a_wacz_is_that_of_the_warc(tmp_path: Path) -> None:
    _wacz(tmp_path / "x.wacz")
    (tmp_path / "b.warc.gz").write_bytes(DATA)
    plain, _, inner = expand([str(tmp_path)])
    assert isinstance(plain, ArchiveSource)
    assert isinstance(inner, ArchiveSource)
    assert checksum(plain) == checksum(inner)


def test_a_file_that_is_being_written_is_found_by_its_later_name(folder: Path) -> None:
    (source,) = expand(["a.arc"])
    assert isinstance(source, ArchiveSource)
    content = (folder / "a.arc").read_bytes()
    (folder / "a.arc").rename(folder / "a.arc.open")
    assert is_present(source.path)
    with source.open() as handle:
        assert handle.read() == content
    with replace(source, size=1, growing=True).open() as handle:
        assert handle.read() == content[:1]


def test_a_file_that_goes_away_cannot_be_opened(folder: Path) -> None:
    (source,) = expand(["a.arc"])
    assert isinstance(source, ArchiveSource)
    (folder / "a.arc").unlink()
    with pytest.raises(SourceError, match=r"a\.arc"):
        source.open()
    with pytest.raises(SourceError, match=r"a\.arc"):
        checksum(source)
    (error,) = ArchiveReader(source, "test")
    assert isinstance(error, ReadError)
    assert error.kind == "read"


def test_addresses_are_read_through_fsspec() -> None:
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://crawls/x.warc.gz", "wb") as file:
        file.write(DATA)
    (source,) = expand(["memory://crawls/x.warc.gz"])
    assert isinstance(source, ArchiveSource)
    assert (source.name, source.size) == ("x.warc.gz", len(DATA))
    assert len(list(ArchiveReader(source, "test"))) == 2
    assert checksum(source).startswith(f"{len(DATA)}~")


def test_a_missing_address_is_an_error() -> None:
    pytest.importorskip("fsspec")
    (error,) = expand(["memory://crawls/gone.warc.gz"])
    assert isinstance(error, ReadError)


def test_an_address_without_credentials_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    (error,) = expand(["s3://bucket/x.warc.gz"])
    assert isinstance(error, ReadError)
    assert "Unable to locate credentials" in error.message


def test_a_path_with_a_null_byte_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"a\0b\n")
    (error,) = expand([f"@{tmp_path / 'list'}"])
    assert isinstance(error, ReadError)
    assert "null byte" in error.message


def test_without_fsspec_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., ModuleType] = builtins.__import__

    def without(name: str, *args: object) -> ModuleType:
        if name == "fsspec":
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    (error,) = expand(["s3://bucket/x.warc.gz"])
    assert isinstance(error, ReadError)
    assert "extra `remote`" in error.message


def test_a_file_is_read_as_it_lies_there(folder: Path) -> None:
    (source,) = expand(["b.warc.gz"])
    assert isinstance(source, ArchiveSource)
    with source.open() as handle:
        assert gzip.decompress(handle.read()) == b"".join(pages(2))


def test_a_path_is_absolute_and_can_be_found_from_anywhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.parent)
    for source in expand([folder.name]):
        assert isinstance(source, ArchiveSource)
        assert Path(source.path).is_absolute()
        assert Path(source.path).exists()


class Ledger:
    """The imported files."""

    def __init__(self, *paths: str) -> None:
        self.paths, self.asked = list(paths), 0

    def __call__(self) -> list[SourceFile]:
        self.asked += 1
        return [SourceFile("web", path.rpartition("/")[2], path, 1, "") for path in self.paths]


def test_the_ledger_is_read_once_for_files_that_stay(tmp_path: Path) -> None:
    (tmp_path / "a.warc.gz").touch()
    files = Ledger(str(tmp_path / "a.warc.gz"))
    known = FilePlaces(files)
    assert [known.is_there(HELD) for _ in range(3)] == [True, True, True]
    assert known.path("web", "a.warc.gz") == str(tmp_path / "a.warc.gz")
    assert files.asked == 1


def test_a_file_that_was_moved_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "_PATIENCE_SECONDS", 0.0)
    (tmp_path / "a.warc.gz").touch()
    (tmp_path / "done").mkdir()
    files = Ledger(str(tmp_path / "a.warc.gz"))
    known = FilePlaces(files)
    assert known.is_there(HELD)
    (tmp_path / "a.warc.gz").rename(tmp_path / "done" / "a.warc.gz")
    assert not known.is_there(HELD)
    files.paths = [str(tmp_path / "done" / "a.warc.gz")]
    assert known.is_there(HELD)


def test_the_ledger_is_not_read_again_at_once_for_an_unknown_file() -> None:
    files = Ledger()
    known = FilePlaces(files)
    assert [known.is_there(HELD) for _ in range(50)] == [False] * 50
    assert files.asked == 1


def test_an_address_is_there_when_it_is_known() -> None:
    assert FilePlaces(Ledger("https://files.example/a.warc.gz")).is_there(HELD)
