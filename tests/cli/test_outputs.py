"""Output to a terminal, to a spreadsheet, or to nowhere."""

import csv
import os
import pty
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Nwx, environment
from tests.warcs import Page, html, write_warc

FORMULA = "=cmd|' /C calc'!A0"
ESCAPE = b"\x1b]0;owned\x07"


@pytest.fixture
def archive(nwx: Nwx, tmp_path: Path) -> Path:
    pages = [Page("http://a.example/", "20200101000000", html(FORMULA, "a formula"))]
    nwx("import", write_warc(tmp_path / "a.warc.gz", pages))
    return tmp_path / "archive"


def test_csv_has_no_formulas(nwx: Nwx, archive: Path) -> None:
    assert archive.exists()
    for options in ((), ("--scroll",)):
        [heads, row] = csv.reader(nwx("search", "formula", "--csv", *options).out.splitlines())
        assert dict(zip(heads, row, strict=True))["title"] == f"'{FORMULA}"


@pytest.mark.parametrize(
    "arguments",
    [
        ("dump", "captures"),
        ("search", "formula", "--json"),
        ("search", "formula", "--csv"),
        ("search", "formula"),
        ("files",),
        ("stats",),
    ],
)
def test_a_full_disk_is_told(archive: Path, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [COMMAND, *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
            env=environment(archive),
            timeout=100,
            check=False,
        )
    assert done.returncode == 1
    assert done.stderr == b"nwx: the output: No space left on device\n"


@pytest.mark.parametrize("arguments", [("dump", "captures"), ("search", "formula"), ("files",)])
def test_a_reader_that_left_is_no_failure(archive: Path, arguments: tuple[str, ...]) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    done = subprocess.run(
        [COMMAND, *arguments],
        stdout=theirs,
        stderr=subprocess.PIPE,
        env=environment(archive),
        timeout=100,
        check=False,
    )
    os.close(theirs)
    assert (done.returncode, done.stderr) == (0, b"")


def _on_terminal(*arguments: str) -> bytes:
    """Return the output of a command on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [COMMAND, *arguments], stdout=theirs, stderr=subprocess.DEVNULL, env=environment("none")
    ):
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 1 << 16):
                shown += piece
        except OSError:
            pass  # a terminal ends like this
        os.close(ours)
    return shown


def test_only_terminals_get_no_escapes(nwx: Nwx, tmp_path: Path) -> None:
    path = tmp_path / "a.cdx"
    line = b"example,a)/%b 20200101000000 http://a.example/%b text/html 200 %b - - 5 1 f\n"
    path.write_bytes(line % (ESCAPE, ESCAPE, b"A" * 32))
    nwx("zipnum", "build", tmp_path / "cluster", path)
    arguments = ("zipnum", "prefix", str(tmp_path / "cluster"), "example,")
    assert ESCAPE.decode() in nwx(*arguments).out
    shown = _on_terminal(*arguments)
    assert b"http://a.example/" in shown
    assert b"\x1b" not in shown


def test_a_folder_that_may_not_be_read_is_told(nwx: Nwx, tmp_path: Path) -> None:
    if os.getuid() == 0:
        # root may read any folder: a file in place of the folder causes the same error
        (tmp_path / "closed").write_bytes(b"")
    else:
        (tmp_path / "closed").mkdir(mode=0)
    warc = write_warc(tmp_path / "a.warc.gz", [Page("http://a.example/", "20200101000000")])
    for arguments in (("cdx", "-o", tmp_path / "closed" / "x", warc),):
        ran = nwx(*arguments, code=1)
        assert "closed" in ran.err
        assert "Traceback" not in ran.err


def test_an_index_does_not_overwrite_its_input(nwx: Nwx, tmp_path: Path) -> None:
    warc = write_warc(tmp_path / "a.warc.gz", [Page("http://a.example/", "20200101000000")])
    before = warc.read_bytes()
    ran = nwx("cdx", "-o", warc, tmp_path, code=2)
    assert "a.warc.gz is one of the files to read" in ran.err
    assert warc.read_bytes() == before
