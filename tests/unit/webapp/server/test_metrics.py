"""Request counts of all processes, including ended ones, and metrics of an archive."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from nwx import Archive
from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import SettingsError
from webapp import create_app
from webapp.server import metrics
from webapp.server.metrics import BOUNDS, RequestCounts, RequestLog, request_id, show_metrics

COUNTER = """
import os, sys
from pathlib import Path
from webapp.server.metrics import RequestCounts
counts = RequestCounts(Path(sys.argv[1]))
counts.add("/search", 200, 0.3)
counts.add("/own " + sys.argv[2], 404, 100.0)
print(os.getpid(), flush=True)
sys.stdin.readline()
"""


def _counter(path: Path, name: str) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-c", COUNTER, str(path), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout and process.stdout.readline() == f"{process.pid}\n"
    return process


def test_sums_are_those_of_all_processes_and_never_fall(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    RequestCounts.create(path, 3)
    counts = RequestCounts(path)
    counts.add("/search", 200, 0.0)
    first, second = _counter(path, "a"), _counter(path, "b")
    assert set(counts.processes()) >= {first.pid, second.pid}
    assert sum(counts.sums()["/search", "200"].numbers) == 3
    first.kill()
    first.communicate()
    assert first.pid not in set(counts.processes())
    # The third process reuses the segment of the first, and continues its counts.
    third = _counter(path, "a")
    assert third.pid in set(counts.processes())
    times = counts.sums()
    assert sum(times["/search", "200"].numbers) == 4
    assert times["/search", "200"].seconds == pytest.approx(0.9)
    assert times["/own a", "404"].numbers[len(BOUNDS)] == 2
    for one in (second, third):
        one.communicate("\n")
    counts.close()


def test_more_processes_than_room_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "counts"
    RequestCounts.create(path, 1)
    process = _counter(path, "a")
    with pytest.raises(SettingsError, match="more server processes"):
        RequestCounts(path)
    process.communicate("\n")


def test_routes_without_room_are_counted_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metrics, "_ROWS", 4)
    path = tmp_path / "counts"
    RequestCounts.create(path, 1)
    for _ in range(2):
        counts = RequestCounts(path)
        for number in range(10):
            counts.add(f"/{number}{'x' * 300}é", 200, 0.01)
        found = {route[:2]: sum(times.numbers) for (route, _), times in counts.sums().items()}
        counts.close()
    assert found["/0"] == found["/1"] == found["/2"] == 2
    assert sum(found.values()) == 20


ASKED = {
    "REQUEST_METHOD": "GET",
    "SCRIPT_NAME": "/web",
    "PATH_INFO": '/search"\n',
    "QUERY_STRING": "q=tide",
    "REMOTE_ADDR": "192.0.2.7",
    "HTTP_USER_AGENT": "x" * 5_000,
}


def test_processes_append_a_line_for_each_request(tmp_path: Path) -> None:
    path = tmp_path / "requests.jsonl"
    logs = [RequestLog(str(path)), RequestLog(str(path))]
    for log in logs:
        log.add(ASKED | {"HTTP_X_REQUEST_ID": "7f-01"}, 200, 0.0123456789)
        log.close()
    one, other = map(json.loads, path.read_text().splitlines())
    assert one["id"] == other["id"] == "7f-01"
    assert (one["client"], one["method"], one["status"]) == ("192.0.2.7", "GET", 200)
    assert (one["path"], one["query"], one["seconds"]) == ('/web/search"\n', "q=tide", 0.012346)
    assert len(one["agent"]) == 2_000
    assert one["time"].endswith("Z")


@pytest.mark.parametrize("given", ["", "a b", "a\r\nb: c", "é"])
def test_ids_that_could_be_more_than_ids_are_replaced(given: str) -> None:
    environ = {"HTTP_X_REQUEST_ID": given}
    found = request_id(environ)
    assert found not in ("", given)
    assert request_id(environ) == found


def test_a_log_that_cannot_be_opened_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="the log of requests"):
        RequestLog(str(tmp_path / "missing" / "log"))


def test_a_full_disk_is_reported_once(caplog: pytest.LogCaptureFixture) -> None:
    log = RequestLog("/dev/full")
    log.add(ASKED, 200, 0.1)
    log.add(ASKED, 200, 0.1)
    log.close()
    assert [one.getMessage() for one in caplog.records] == [
        "the log of requests cannot be written: No space left on device"
    ]


def test_an_unreadable_file_is_not_counted_as_a_stopped_import(tmp_path: Path) -> None:
    (tmp_path / "noise.warc").write_bytes(b"noise")
    with EmbeddedEngine(tmp_path / "archive") as engine:
        archive = Archive.over(engine)
        archive.import_(tmp_path / "noise.warc")
        app = create_app(engine)
        show_metrics(app, archive, None, is_public=False)
        shown = app.test_client().get("/metrics").text
    assert 'nwx_import_files{state="unreadable"} 1.0' in shown
    assert 'nwx_import_files{state="stopped"} 0.0' in shown
