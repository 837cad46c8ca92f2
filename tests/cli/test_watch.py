"""nwx watch."""

import json
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Nwx, environment, run_nwx
from tests.cli.test_killed import wait_for_the_end_of_all
from tests.warcs import many_pages, write_warc

INDICES = ("documents", "dates", "captures")


def start(engine: Path, folder: Path, *options: str) -> "subprocess.Popen[str]":
    """Start a watch in a new process group."""
    return subprocess.Popen(
        [COMMAND, "watch", str(folder), "--settle", "0", "--interval", "0.1", *options],
        env=environment(engine),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def test_what_is_loaded_is_said_line_by_line(nwx: Nwx, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    path = write_warc(tmp_path / "in" / "a.warc.gz", many_pages(3))
    (tmp_path / "in" / "bad.warc.gz").write_bytes(b"nothing")
    ran = nwx("watch", tmp_path / "in", "--once", "--settle", 0, code=1)
    first, last = ran.out.splitlines()
    assert first.startswith(f"{path}: ")
    assert first.endswith(", 4 captures, 0 errors")
    assert last == "1 file loaded, 0 known, 1 failed"
    assert "bad.warc.gz: no WARC or ARC record was found" in ran.err


def test_json_lines(nwx: Nwx, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_warc(tmp_path / "in" / "a.warc.gz", many_pages(3))
    ran = nwx(
        *("watch", tmp_path / "in", "--once", "--settle", 0, "--json"),
        *("--completed", tmp_path / "done", "--collection", "crawl"),
    )
    (event,) = ran.json_lines
    assert (event["event"], event["captures"]) == ("loaded", 4)
    assert event["moved_to"] == str(tmp_path / "done" / "a.warc.gz")
    (file,) = nwx("files", "--json").json_lines
    assert (file["path"], file["collection"]) == (event["moved_to"], "crawl")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "name the folder"),
        (("gone",), "not a folder"),
        (("in", "--completed", "in"), "contains the watched folder"),
        (("in", "--failed", "."), "contains the watched folder"),
    ],
)
def test_wrong_use(nwx: Nwx, tmp_path: Path, arguments: tuple[str, ...], message: str) -> None:
    (tmp_path / "in").mkdir()
    places = [part if part.startswith("--") else str(tmp_path / part) for part in arguments]
    assert message in nwx("watch", *places, code=2).err


def test_a_watch_makes_its_archive_before_there_is_a_file(nwx: Nwx, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    ran = nwx("watch", tmp_path / "in", "--once")
    assert ran.out == "0 files loaded, 0 known, 0 failed\n"
    assert nwx("files").code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_watch_ends_when_it_is_told_to(tmp_path: Path, number: signal.Signals) -> None:
    (tmp_path / "in").mkdir()
    write_warc(tmp_path / "in" / "a.warc.gz", many_pages(3))
    process = start(tmp_path / "archive", tmp_path / "in", "--json")
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["event"] == "loaded"
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "")
    wait_for_the_end_of_all(process.pid)


def test_what_was_loaded_of_a_growing_file_is_said(nwx: Nwx, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_warc(tmp_path / "in" / "a.warc.gz.open", many_pages(3))
    process = start(tmp_path / "archive", tmp_path / "in")
    until = time.monotonic() + 60
    while '"captures": 4' not in nwx("files", "--json", code=None).out:
        assert time.monotonic() < until
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=60)[0] == (
        "0 files loaded, 0 known, 0 failed; 4 captures loaded of 1 file not complete yet\n"
    )


def test_each_file_is_loaded_and_moved_once_whatever_is_killed(tmp_path: Path) -> None:
    incoming, done = tmp_path / "in", tmp_path / "done"
    incoming.mkdir()
    for number in range(12):
        write_warc(incoming / f"{number:02}.warc.gz", many_pages(60, start=number * 40))
    contents = {path.name: path.read_bytes() for path in incoming.iterdir()}
    run_nwx(tmp_path / "calm", "import", "--quiet", incoming)
    moments, killed = random.Random(5), 0
    for _ in range(6):
        process = start(tmp_path / "archive", incoming, "--completed", str(done))
        time.sleep(moments.uniform(0.3, 1.8))
        killed += process.poll() is None
        process.kill()
        process.communicate()
        wait_for_the_end_of_all(process.pid)
        names = {
            path.name for folder in (incoming, done) if folder.exists() for path in folder.iterdir()
        }
        assert contents.keys() <= names, "a file has gone"
    assert killed >= 3
    options = ("--completed", done, "--once", "--settle", 0)
    run_nwx(tmp_path / "archive", "watch", incoming, *options)
    assert list(incoming.iterdir()) == []
    assert {path.name: path.read_bytes() for path in done.iterdir()} == contents
    for index in INDICES:
        dumps = [run_nwx(tmp_path / name, "dump", index).out for name in ("archive", "calm")]
        assert dumps[0] == dumps[1]
    files = run_nwx(tmp_path / "archive", "files", "--json").json_lines
    assert {Path(file["path"]).parent for file in files} == {done}
    assert all(file["finished"] for file in files)
    run_nwx(tmp_path / "archive", "check")
