import json
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from nwx.quality.monitor.report import (
    Alert,
    AlertCommand,
    AlertKind,
    HostCounts,
    LogProblem,
    MinuteCounts,
    MonitorReport,
    NoticeError,
    Notices,
    TypeCounts,
    Webhook,
    monitor_json,
)

REPORT = MonitorReport(
    "floods",
    "web",
    "20260101000000",
    totals=MinuteCounts("", new_documents=3),
    minutes=(MinuteCounts("202601010000", captures=4),),
    statuses={-2: 1, 200: 3},
    types=(TypeCounts("html", 3, 30),),
    hosts=(HostCounts("a.example", captures=4),),
    documents_known=1,
    alerts=(
        Alert(AlertKind.DISK, "/", "20260101000000", "full", 0.01),
        Alert(AlertKind.RATE, "", "20260101000000", "slow", 0.1, cleared="20260101000500"),
    ),
    problems=(LogProblem("crawl.log", 3, "cut"),),
)


def test_what_is_worked_out() -> None:
    assert REPORT.new_share == 0.75
    assert [alert.kind for alert in REPORT.open_alerts] == [AlertKind.DISK]
    assert not REPORT.hosts_are_bounded
    assert MonitorReport("a", "b", "").new_share is None


def test_a_report_as_json() -> None:
    found = json.loads(json.dumps(monitor_json(REPORT)))
    assert found["minutes"] == [MinuteCounts("202601010000", captures=4)._asdict()]
    assert found["statuses"] == {"-2": 1, "200": 3}
    assert (
        found["alerts"][0] | {}
        == Alert(AlertKind.DISK, "/", "20260101000000", "full", 0.01)._asdict()
    )
    assert found["totals"]["new_documents"] == 3 and "minute" not in found["totals"]
    assert found["hosts"][0]["mean_ms"] is None
    assert found["new_share"] == 0.75 and found["hosts_are_bounded"] is False


ALERTS = [Alert(AlertKind.ERRORS, f"{n}.example", "20261122120000", "é", 0.9) for n in range(3)]


class Recorded:
    """A channel that fails a given number of times, and records what it accepts."""

    def __init__(self, refusals: int = 0) -> None:
        self.refusals, self.taken, self.asked = refusals, [], 0

    taken: list[dict[str, Any]]

    def tell(self, notice: dict[str, Any]) -> None:
        self.asked += 1
        if self.refusals:
            self.refusals -= 1
            raise NoticeError("not now")
        self.taken.append(notice)


@pytest.fixture
def hook() -> Iterator[tuple[str, list[dict[str, Any]], list[int]]]:
    """A server that receives alerts: its address, the received alerts, and its next responses."""
    taken: list[dict[str, Any]] = []
    answers: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = answers.pop(0) if answers else 204
            if status == 204:
                assert self.headers["Content-Type"] == "application/json"
                taken.append(json.loads(body))
            self.send_response(status)
            self.send_header("Location", "/elsewhere")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", taken, answers
    server.shutdown()
    server.server_close()
    thread.join()


def test_alerts_are_told_in_order_and_once() -> None:
    channel, problems = Recorded(refusals=2), list[str]()
    notices = Notices([channel], problems.append, pauses=(0.0, 0.0, 0.0))
    for alert in ALERTS:
        notices.add("floods", alert)
    notices.finish(10)
    assert [one["host"] for one in channel.taken] == [alert.host for alert in ALERTS]
    assert channel.taken[0]["monitor"] == "floods" and channel.taken[0]["kind"] == "errors"
    assert channel.asked == 5 and problems == []
    assert notices.take_sent() == ALERTS and notices.take_sent() == []


def test_what_nobody_takes_is_given_up_and_told() -> None:
    channel, problems = Recorded(refusals=3), list[str]()
    notices = Notices([channel], problems.append, pauses=(0.0, 0.0))
    notices.add("floods", ALERTS[0])
    notices.add("floods", ALERTS[1])
    notices.finish(10)
    assert [one["host"] for one in channel.taken] == [ALERTS[1].host]
    assert problems == ["an alert was not sent: not now"]


def test_what_is_not_taken_in_the_end_is_neither_told_nor_given_up() -> None:
    channel, problems = Recorded(refusals=3), list[str]()
    notices = Notices([channel], problems.append, pauses=(60.0,))
    notices.add("floods", ALERTS[0])
    notices.finish(0.2)
    assert problems == ["an alert was not sent yet: not now"]
    assert notices.take_sent() == [] and channel.asked == 1


def test_a_channel_that_hangs_holds_nobody_up() -> None:
    hanging, problems = threading.Event(), list[str]()

    class Hanging:
        def tell(self, notice: dict[str, Any]) -> None:
            hanging.wait(20)

    notices = Notices([Hanging()], problems.append)
    for _ in range(1_002):
        notices.add("floods", ALERTS[0])
    notices.finish(0.0)
    hanging.set()
    assert problems and "too many alerts" in problems[0]


def test_without_a_channel_nothing_waits() -> None:
    notices = Notices([], pytest.fail)
    notices.add("floods", ALERTS[0])
    notices.finish(0.0)
    assert notices.take_sent() == []


def test_a_webhook_takes_json(hook: tuple[str, list[dict[str, Any]], list[int]]) -> None:
    address, taken, answers = hook
    Webhook(address).tell({"kind": "errors"})
    assert taken == [{"kind": "errors"}]
    for status in (500, 302, 404):
        answers.append(status)
        with pytest.raises(NoticeError, match=str(status)):
            Webhook(address).tell({})
    assert len(taken) == 1


def test_a_webhook_that_is_not_there() -> None:
    with pytest.raises(NoticeError, match="does not answer"):
        Webhook("http://127.0.0.1:1/secret").tell({})
    with pytest.raises(NoticeError, match="does not answer"):
        Webhook("nonsense").tell({})
    for host in ("a..b", f"{'a' * 64}.org"):
        with pytest.raises(NoticeError, match="does not answer"):
            Webhook(f"http://{host}/").tell({})


def test_a_webhook_that_drips_its_answer_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            accepted, _ = server.accept()
            with accepted, suppress(OSError):
                accepted.sendall(b"HTTP/1.1 204 No Content\r\nX: ")
                for _ in range(600):
                    accepted.sendall(b"x")
                    gone.wait(0.02)

        gone = threading.Event()
        thread = threading.Thread(target=drip)
        thread.start()
        with pytest.raises(NoticeError, match="took longer than 1 s"):
            Webhook(f"http://127.0.0.1:{server.getsockname()[1]}/", 1.0).tell({})
        gone.set()
        thread.join()


def test_a_command_gets_json_and_no_shell(tmp_path: Path) -> None:
    code = "import pathlib, sys; pathlib.Path(sys.argv[1]).write_text(sys.stdin.read())"
    out = tmp_path / "$(touch x); out"
    AlertCommand([sys.executable, "-c", code, str(out)]).tell({"host": "`touch y`"})
    assert json.loads(out.read_text()) == {"host": "`touch y`"}
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ([sys.executable, "-c", "import time; time.sleep(60)"], "longer than 0.5 s"),
        ([sys.executable, "-c", "raise SystemExit(3)"], "ended with 3"),
        (["/nowhere/at-all"], "cannot be run"),
    ],
)
def test_a_command_that_fails(arguments: list[str], problem: str) -> None:
    seconds = 0.5 if "time" in problem or "longer" in problem else 30
    with pytest.raises(NoticeError, match=problem):
        AlertCommand(arguments, seconds).tell({})
