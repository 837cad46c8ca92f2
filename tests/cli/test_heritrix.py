"""nwx heritrix with a job folder, without a running Heritrix."""

import signal
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import COMMAND, Nwx, environment


def test_a_job_is_fed_until_it_is_told_to_stop(nwx: Nwx, tmp_path: Path) -> None:
    nwx("queue", "add", "http://a.example/", "--crawl", "floods")
    job = tmp_path / "job"
    (job / "20260101000000").mkdir(parents=True)
    (job / "latest").symlink_to("20260101000000")
    (job / "crawler-beans.cxml").touch()
    feed = [COMMAND, "heritrix", str(job), "--crawl", "floods", "--interval", "0.1"]
    with subprocess.Popen(
        feed,
        env=environment(tmp_path / "archive", PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "1 given, 0 fetched\n"
        again = nwx("heritrix", job, "--crawl", "floods", code=1)
        assert "is already fed by another process" in again.err
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60) == ("", "")
        assert process.returncode == 0
    (schedule,) = (job / "action").iterdir()
    assert schedule.read_text() == "F+ http://a.example/ L http://a.example/\n"


@pytest.mark.parametrize(
    ("queued", "is_launched", "told"),
    [
        ("floods", False, "is launched"),
        ("flods", True, "for URLs of the crawl floods in the queue"),
        ("", True, "for URLs of the crawl floods in the queue"),  # without an archive
    ],
)
def test_what_is_waited_for_is_said(
    nwx: Nwx, tmp_path: Path, queued: str, is_launched: bool, told: str
) -> None:
    if queued:
        nwx("queue", "add", "http://a.example/", "--crawl", queued)
    (tmp_path / "crawler-beans.cxml").touch()
    if is_launched:
        (tmp_path / "latest").symlink_to("20260101000000")
    with subprocess.Popen(
        [COMMAND, "heritrix", str(tmp_path), "--crawl", "floods"],
        env=environment(tmp_path / "archive"),
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        assert told in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=60) == 0


def test_a_folder_that_is_no_job(nwx: Nwx, tmp_path: Path) -> None:
    wrong = nwx("heritrix", tmp_path, "--crawl", "floods", code=2)
    assert "it has no crawler-beans.cxml" in wrong.err
    assert nwx("heritrix", tmp_path, code=2).err.endswith("Missing option '--crawl'.\n")


def test_a_queue_that_refuses_ends_it(nwx: Nwx, tmp_path: Path) -> None:
    (tmp_path / "crawler-beans.cxml").touch()
    (tmp_path / "latest").symlink_to("first")
    asked = ("heritrix", tmp_path, "--crawl", "floods", "--queue", "gopher://a.example")
    assert "not the address of a queue" in nwx(*asked, code=2).err
