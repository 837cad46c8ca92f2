"""Commands that extract text from payloads, and all ways in which they may fail."""

import os
import sys
import time
from pathlib import Path

import pytest

from nwx.errors import UsageError
from nwx.extract.extractors import (
    Extractor,
    extract_by_command,
    extractor_for,
    extractor_of,
)
from nwx.model import Extract

MIB = 1 << 20


def run(script: str, data: bytes = b"payload", *, seconds: float = 20.0, mib: int = 512) -> Extract:
    command = Extractor("image/*", (sys.executable, "-S", "-c", script))
    return extract_by_command(command, data, seconds=seconds, memory_bytes=mib * MIB)


def test_a_type_and_a_command_are_read() -> None:
    assert extractor_of("Image/*=cat -u 'a b'") == Extractor("image/*", ("cat", "-u", "a b"))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("cat", "TYPE=COMMAND"),
        ("=cat", "TYPE=COMMAND"),
        ("image/*=", "TYPE=COMMAND"),
        ("image/*='", "quotation"),
        ("image/*=no-such-command-here -", "no command 'no-such-command-here'"),
    ],
)
def test_what_is_no_extractor_is_refused(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        extractor_of(text)


def test_the_first_for_a_type_or_family_counts() -> None:
    png, image, audio = (Extractor(name, ("cat",)) for name in ("image/png", "image/*", "audio"))
    known = (png, image, audio)
    assert extractor_for(known, "image/png", "image") is png
    assert extractor_for(known, "image/jpeg", "image") is image
    assert extractor_for(known, "application/ogg", "audio") is audio
    assert extractor_for(known, "text/html", "html") is None


def test_the_payload_goes_in_and_the_text_comes_out() -> None:
    data = "Zeile 1\r\n\n  Größe  2\n".encode() * 20_000  # more than a pipe's buffer
    found = run("import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", data)
    assert found.content.startswith("Zeile 1\nGröße 2\nZeile 1")
    assert len(found.content.splitlines()) == 40_000
    assert found.problems == ()


def test_a_command_that_reads_nothing_is_taken() -> None:
    assert run("print('here')", bytes(MIB)).content == "here"


def test_a_failure_is_told() -> None:
    found = run("import sys; print('half'); sys.exit('no\\nsuch \\x1b[1m language')")
    assert found.content == ""
    assert "exit code 1" in found.problems[0]
    assert found.problems[0].endswith("such [1m language")
    assert "SIGKILL" in run("import os; os.kill(os.getpid(), 9)").problems[0]


def test_a_command_that_is_no_longer_there_is_told() -> None:
    gone = Extractor("*/*", ("/no/such/command",))
    found = extract_by_command(gone, b"x", seconds=9, memory_bytes=512 * MIB)
    assert "No such file" in found.problems[0]


def test_time_is_limited_and_children_end_too(tmp_path: Path) -> None:
    noted = tmp_path / "child"
    found = run(
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(99)'])\n"
        f"open({str(noted)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(99)",
        seconds=2.0,
    )
    assert found.problems == (f"extractor: {Path(sys.executable).name} took longer than 2 s",)
    assert_gone(int(noted.read_text()))


def test_a_child_that_is_left_behind_is_ended_and_the_text_is_kept() -> None:
    found = run(
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-S', '-c', 'import time; time.sleep(99)'])\n"
        "print(child.pid)"
    )
    assert found.problems == ()
    assert_gone(int(found.content))


def assert_gone(pid: int) -> None:
    until = time.monotonic() + 5
    while _runs(pid) and time.monotonic() < until:
        time.sleep(0.01)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    """Return whether a process is running; an ended one may remain as a zombie."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"


def test_memory_and_output_are_limited() -> None:
    found = run("a = bytearray(900 << 20); print(len(a))", mib=256)
    assert (found.content, "256 MiB" in found.problems[0]) == ("", True)
    found = run("while True: print('a' * 60000)")
    assert len(found.content) <= 2_000_000
    assert found.problems[0].startswith("text: cut after")


def test_text_that_is_not_utf_8_is_told() -> None:
    found = run("import sys; sys.stdout.buffer.write(b'caf\\xe9 noir')")
    assert found.content == "caf\ufffd noir"
    assert "not UTF-8" in found.problems[0]


def test_without_time_nothing_is_run() -> None:
    assert "no time left" in run("print('here')", seconds=0).problems[0]
