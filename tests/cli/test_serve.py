"""nwx serve."""

import json
import signal
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, environment, run_nwx


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_pages_are_served_until_told_to_stop(quarry: Path, number: signal.Signals) -> None:
    with subprocess.Popen(
        [COMMAND, "serve", "--port", "0", "--no-replay"],
        env=environment(quarry, PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            address = line.partition(" at ")[2].split()[0]
            with urllib.request.urlopen(f"{address}api/search?q=slate") as answer:
                assert json.load(answer)["total"]["value"] == 1
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert "Traceback" not in err
    assert process.returncode == 0


def test_create_makes_an_empty_archive_where_there_is_none(tmp_path: Path) -> None:
    place = tmp_path / "archive"
    assert "no archive" in run_nwx(place, "serve", "--port", "0", code=1).err
    assert not place.exists()
    with subprocess.Popen(
        [COMMAND, "serve", "--create", "--port", "0", "--no-replay"],
        env=environment(place, PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().partition(" at ")[2].split()[0]
            with urllib.request.urlopen(address) as page:
                assert "This archive is empty" in page.read().decode()
        finally:
            process.terminate()


def test_a_port_in_use_is_said(quarry: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        ran = run_nwx(quarry, "serve", "--port", port, code=2)
    assert f"port {port}" in ran.err
    assert "Traceback" not in ran.err


def test_a_request_log_that_cannot_be_written_is_said(quarry: Path) -> None:
    log = quarry / "nwx.json" / "log"
    ran = run_nwx(quarry, "serve", "--port", "0", "--request-log", log, code=2)
    assert ran.err == f"nwx: the log of requests {log}: Not a directory\n"
