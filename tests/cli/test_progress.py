"""What an import shows while it runs."""

import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from nwx.cli import bar
from nwx.importing import Progress
from tests.cli.conftest import COMMAND, environment
from tests.warcs import many_pages, write_warc


def progress(seconds: float, done: int = 500, total: int | None = 1_000) -> Progress:
    return Progress(
        bytes=done,
        bytes_total=total,
        files=1,
        files_total=2,
        captures=1_234,
        documents=1_000,
        duplicates=200,
        errors=3,
        seconds=seconds,
    )


def test_elsewhere_than_on_a_terminal_lines_come_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = 100.0
    monkeypatch.setattr(bar.time, "monotonic", lambda: now)
    with bar.shown_progress(quiet=False) as show:
        for _ in range(12):
            now += 1
            show(progress(now - 100, total=None if now > 105 else 1_000))
    lines = capsys.readouterr().err.splitlines()
    words = "1/2 files, 1,234 captures, 1,000 documents, 200 duplicates, 3 errors"
    assert lines == [f"50%, 2 s left: 500 B, {words}", f"500 B, {words}", f"500 B, {words}"]


def test_quiet_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with bar.shown_progress(quiet=True) as show:
        show(progress(100))
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
    assert "stopped; run the same command again to go on" in text


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65_536)
    except OSError:  # how a terminal ends on Linux
        return b""
