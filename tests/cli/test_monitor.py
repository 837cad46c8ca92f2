"""nwx monitor, and nwx watch --monitor."""

import json
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.cli.conftest import COMMAND, Nwx, environment
from tests.unit.quality.monitor.made_crawls import healthy, log_line
from tests.warcs import many_pages, write_warc

KEEP = "import pathlib, sys; pathlib.Path(sys.argv[1]).open('a').write(sys.stdin.read() + '\\n')"


def write_log(folder: Path) -> Path:
    """Write the log of a crawl of the last minutes in which one host fails."""
    log = folder / "crawl.log"
    now = datetime.now(UTC)
    with log.open("w", encoding="utf-8") as stream:
        stream.writelines(healthy(0, now - timedelta(minutes=2)))
        stream.write("this is no line\n")
        stream.writelines(log_line(f"http://sick.example/{n}", now, 503) for n in range(30))
    return log


def of_crawl(alerts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return alerts except those about the disk, which may be full on any machine."""
    return [one for one in alerts if one["kind"] != "disk"]


def test_one_report(nwx: Nwx, tmp_path: Path) -> None:
    log = write_log(tmp_path)
    for _ in range(2):
        report = nwx("monitor", "floods", "--crawl-log", log, "--once", "--json").json
        assert (report["name"], report["collection"]) == ("floods", "default")
        assert (report["totals"]["captures"], report["log_lines"]) == (78, 81)
        assert [(one["kind"], one["host"]) for one in of_crawl(report["alerts"])] == [
            ("errors", "sick.example")
        ]
        assert report["problems_total"] == 1
    table = nwx("monitor", "floods", "--crawl-log", log, "--once").out
    assert "78, 78.0 KB, 36 pages" in table and "sick.example" in table
    assert "1 problem, the last: crawl.log at" in table
    again = nwx("monitor", "floods", "--crawl-log", log, "--once", "--anew", "--json").json
    assert again["totals"] == report["totals"]
    nwx("access", "add", "block", "sick.example", "--reason", "private")
    line = ("monitor", "floods", "--crawl-log", log, "--once", "--json")
    assert "sick.example" not in nwx(*line).out
    assert "sick.example" in nwx("--unrestricted", *line).out


def test_the_collection_is_that_of_the_crawl(nwx: Nwx, tmp_path: Path) -> None:
    specification = tmp_path / "floods.toml"
    specification.write_text('name = "floods"\ncollection = "rivers"\n')
    nwx("crawls", "add", specification)
    nwx("import", write_warc(tmp_path / "a.warc.gz", many_pages(3)), "--collection", "rivers")
    nwx("import", write_warc(tmp_path / "b.warc.gz", many_pages(5)))
    report = nwx("monitor", "floods", "--once", "--json").json
    assert (report["collection"], report["totals"]["captures"]) == ("rivers", 4)
    report = nwx("monitor", "--once", "--json").json
    assert (report["name"], report["collection"], report["archived"]) == ("default", "default", 7)
    report = nwx("monitor", "x", "--collection", "rivers", "--once", "--json").json
    assert (report["name"], report["archived"]) == ("x", 4)


def test_a_command_is_told_once(nwx: Nwx, tmp_path: Path) -> None:
    log, told = write_log(tmp_path), tmp_path / "told"
    command = f'{sys.executable} -c "{KEEP}" {told}'
    for _ in range(2):
        nwx("monitor", "floods", "--crawl-log", log, "--once", "--alert-command", command)
    (notice,) = of_crawl(map(json.loads, told.read_text().splitlines()))
    assert (notice["monitor"], notice["kind"], notice["host"]) == (
        "floods",
        "errors",
        "sick.example",
    )
    failing = ("--anew", "--alert-command", f"{sys.executable} -c 'raise SystemExit(3)'")
    ran = nwx("monitor", "floods", "--crawl-log", log, "--once", *failing)
    assert "an alert was not sent" in ran.err and "ended with 3" in ran.err


def test_thresholds_are_those_of_a_file(nwx: Nwx, tmp_path: Path) -> None:
    thresholds = tmp_path / "alerts.toml"
    thresholds.write_text("[alerts]\nhost_fetches = 50\n")
    once = ("monitor", "--crawl-log", write_log(tmp_path), "--once", "--json")
    assert of_crawl(nwx(*once, "--thresholds", thresholds).json["alerts"]) == []
    again = nwx(*once, "--anew", NWX_THRESHOLDS=str(thresholds)).json
    assert of_crawl(again["alerts"]) == []
    thresholds.write_text("[alerts]\nhost_fetch = 50\n")
    assert "'host_fetch' is not a threshold" in nwx(*once, "--thresholds", thresholds, code=2).err


def test_wrong_use(nwx: Nwx, tmp_path: Path) -> None:
    assert "--webhook takes an http" in nwx("monitor", "--once", "--webhook", "x", code=2).err
    unclosed = nwx("monitor", "--once", "--alert-command", "'", code=2)
    assert "--alert-command cannot be read" in unclosed.err
    assert "is not a valid collection name" in nwx("monitor", "--collection", "a/b", code=2).err
    assert "is not a valid crawl name" in nwx("monitor", "a/b", "--once", code=2).err
    for name in ("rivers", "default"):
        again = nwx(
            "monitor", "floods", "--collection", name, "--once", code=2 * (name != "rivers")
        )
    assert "counts the collection 'rivers' and no log" in again.err
    alone = nwx("watch", tmp_path, "--once", "--crawl-log", tmp_path / "crawl.log", code=2)
    assert "need --monitor NAME" in alone.err


def test_it_looks_until_it_is_told_to_stop(nwx: Nwx, tmp_path: Path) -> None:
    log = write_log(tmp_path)
    options = ["floods", "--crawl-log", str(log), "--interval", "0.1", "--json"]
    with subprocess.Popen(
        [COMMAND, "monitor", *options],
        env=environment(tmp_path / "archive", PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline())["totals"]["captures"] == 78
        assert "another monitor" in nwx("monitor", "floods", "--once", code=2).err
        with log.open("a", encoding="utf-8") as stream:
            stream.write(log_line("http://new.example/", datetime.now(UTC)))
        while json.loads(process.stdout.readline())["totals"]["captures"] == 78:
            pass
        process.send_signal(signal.SIGTERM)
        _, problems = process.communicate(timeout=60)
        assert process.returncode == 0
    assert [line for line in problems.splitlines() if "alert: disk" not in line] == [
        "nwx: alert: errors: sick.example: 100% of the last answers have a status of 400 or higher"
    ]


def test_alerts_of_an_earlier_run_are_counted(nwx: Nwx, tmp_path: Path) -> None:
    log = write_log(tmp_path)
    options = ("monitor", "floods", "--crawl-log", log, "--thresholds", no_disks(tmp_path))
    assert "alert" not in nwx(*options, "--once").err
    time.sleep(1.1)  # alerts are dated to the second
    with subprocess.Popen(
        [COMMAND, *map(str, options), "--interval", "0.1"],
        env=environment(tmp_path / "archive", PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None and process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        _, problems = process.communicate(timeout=60)
    assert problems == "nwx: open already: 1 alert\n"


def no_disks(folder: Path) -> Path:
    """Return a file of thresholds without alerts about full disks."""
    path = folder / "thresholds.toml"
    path.write_text("[alerts]\ndisk = 1.0\ndisk_gigabytes = 0\n")
    return path


def test_on_a_small_terminal(tmp_path: Path) -> None:
    """Alerts are visible, and problems are on separate lines."""
    terminal, end = pty.openpty()
    termios.tcsetwinsize(end, (20, 80))
    log = write_log(tmp_path)
    options = ["--crawl-log", str(log), "--interval", "0.2", "--webhook", "http://127.0.0.1:1/"]
    with subprocess.Popen(
        [COMMAND, "monitor", *options],
        env=environment(tmp_path / "archive", TERM="xterm"),
        stdout=end,
        stderr=end,
    ) as process:
        os.close(end)
        shown = seen_on(terminal, "sick.example")
        assert shown[: shown.index("\nerrors  sick.example")].count("\n") < 20
        process.send_signal(signal.SIGINT)
        shown += seen_on(terminal, "")
    os.close(terminal)
    assert process.returncode == 0
    assert "\nnwx: an alert was not sent yet: the webhook does not answer" in f"\n{shown}"


def seen_on(terminal: int, awaited: str) -> str:
    """Return the lines on a terminal until the expected text appears, or until the end."""
    shown = ""
    while not (awaited and awaited in shown):
        try:
            data = os.read(terminal, 1 << 16)
        except OSError:  # the other side is closed
            break
        shown += data.decode("utf-8", "replace")
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r", "", shown.replace("\x1b[1A", "\n"))


def test_beside_a_watch(nwx: Nwx, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    write_warc(tmp_path / "in" / "a.warc.gz", many_pages(30))
    log = write_log(tmp_path)
    watch = ("watch", tmp_path / "in", "--once", "--settle", 0, "--monitor", "floods")
    ran = nwx(*watch, "--collection", "rivers", "--crawl-log", log)
    assert "1 file loaded" in ran.out
    assert ran.err.count("alert: errors: sick.example") == 1
    report = nwx(
        "monitor", "floods", "--collection", "rivers", "--crawl-log", log, "--once", "--json"
    )
    assert report.json["archived"] == 40 and report.json["log_lines"] == 81
