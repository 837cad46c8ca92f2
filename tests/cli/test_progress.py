"""Progress shown by running commands."""

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from nwx.bulk.progress import WorkProgress
from nwx.cli import main
from nwx.cli.output import progress_bar
from tests.cli.conftest import COMMAND, environment, run_nwx
from tests.warcs import Page, html, many_pages, write_warc


def progress(total: int = 1_000) -> WorkProgress:
    counts = {"capture": 1_234, "document": 1_000, "duplicate": 200, "error": 1}
    return WorkProgress("importing", 500, total, in_bytes=True, files=(1, 2), counts=counts)


def test_elsewhere_than_on_a_terminal_lines_come_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr("nwx.cli.output.time.monotonic", lambda: now)
    with progress_bar(quiet=False) as show:
        for _ in range(12):
            now += 1
            show(progress(total=0 if now > 105 else 1_000))
    lines = capsys.readouterr().err.splitlines()
    words = "1/2 files, 1,234 captures, 1,000 documents, 200 duplicates, 1 error"
    assert lines == [
        f"importing: 50%, 2 s left, 500 B, {words}",
        f"importing: 500 B, {words}",
        f"importing: 500 B, {words}",
    ]


def test_steps_that_are_counted_otherwise_have_neither_sizes_nor_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("nwx.cli.output._QUIET_SECONDS", 0.0)
    monkeypatch.setattr("nwx.cli.output._LINE_SECONDS", 0.0)
    with progress_bar(quiet=False) as show:
        show(WorkProgress("writing", 3, 4))
        show(WorkProgress("looking up", 1_500))
    assert capsys.readouterr().err.splitlines() == ["writing: 75%", "looking up: 1,500"]


def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress_bar(quiet=True) as show:
        show(progress())
    assert capsys.readouterr().err == ""


def test_a_terminal_has_a_bar_that_goes_away(tmp_path: Path) -> None:
    first = write_warc(tmp_path / "0.warc.gz", many_pages(2_000))
    for copy in range(1, 200):
        os.link(first, tmp_path / f"{copy}.warc.gz")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [COMMAND, "import", str(tmp_path)],
        env=environment(tmp_path / "archive", TERM="xterm", COLUMNS="80"),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    )
    os.close(theirs)
    shown = b""
    while b"captures" not in shown:
        shown += os.read(ours, 65_536)
    os.kill(process.pid, signal.SIGINT)
    while chunk := _read(ours):
        shown += chunk
    assert process.wait(60) == 130
    os.close(ours)
    text = shown.decode()
    assert "%" in text
    assert "/200 files" in text
    assert text.count("\x1b[?25l") == text.count("\x1b[?25h"), "the cursor is back"
    assert "stopped; run the same command again to resume" in text


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # a terminal ends like this on Linux
        return b""


CRAWL = [
    Page("http://www.example.org/", "20200101000000", html("Home", "the home page")),
    Page("http://www.example.org/", "20210101000000", html("Home", "the home page")),
]
STEPS = {
    "cdx crawl.warc.gz": "reading: ",
    "cdx --beside crawl.warc.gz": "reading: ",
    "dedup-cdx crawl.cdx --against archive": "reading the archive: ",
    "revisits crawl.cdx": "reading: ",
    "savings crawl.cdx": "reading: ",
    "dedup-warc -e list -o new crawl.warc.gz": "writing: ",
    "add-dates list": "adding: ",
    "add-dates --build all --from main list": "building: ",
    "dates orphans": "looking up keys: ",
    "check": "checking captures: ",
    "check --cdx crawl.cdx -e list": "comparing: ",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A crawl, its CDX file, a list and an archive."""
    folder = tmp_path_factory.mktemp("progress")
    warc = write_warc(folder / "crawl.warc.gz", CRAWL)
    (folder / "list").write_text(f"20210101000000 {CRAWL[1].digest} {CRAWL[1].url}\n")
    run_nwx(folder / "archive", "import", "--quiet", warc)
    run_nwx(folder / "archive", "cdx", "--quiet", warc, "-o", folder / "crawl.cdx")
    return folder


@pytest.mark.parametrize("command", STEPS)
def test_what_may_take_long_says_how_far_it_is(
    folder: Path, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_QUIET_SECONDS", "_LINE_SECONDS"):
        monkeypatch.setattr(f"nwx.cli.output.{name}", 0.0)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("NWX_ENGINE", "archive")
    ran = CliRunner().invoke(main.cli, command.split())
    assert ran.exception is None or isinstance(ran.exception, SystemExit), ran.exception
    assert f"\n{STEPS[command]}" in f"\n{ran.stderr}"
    assert STEPS[command] not in ran.stdout


def test_what_is_printed_goes_where_it_is_sent_while_a_bar_is_shown(folder: Path) -> None:
    ours, theirs = pty.openpty()
    script = (
        "from nwx.cli import main, output\noutput._QUIET_SECONDS = 0\nmain.run(main.cli, 'nwx')"
    )
    gone = Page("http://gone.example/", "20200101000000", b"x")
    line = f"- 2020 {gone.url} - - {gone.digest} - - - 5 x.warc\n"
    (folder / "gone.cdx").write_text(line * 1_100)  # more than are compared before the bar appears
    process = subprocess.run(
        [sys.executable, "-c", script, "check", "--all", "--cdx", "gone.cdx"],
        cwd=folder,
        env=environment("archive", TERM="xterm", COLUMNS="80"),
        stdout=subprocess.PIPE,
        stderr=theirs,
        timeout=60,
        check=False,
    )
    os.close(theirs)
    shown = b""
    while chunk := _read(ours):
        shown += chunk
    os.close(ours)
    assert process.stdout.count(b"not-imported: 20200101000000 ") == 1_100
    assert b"comparing" in shown
    assert b"not-imported" not in shown
