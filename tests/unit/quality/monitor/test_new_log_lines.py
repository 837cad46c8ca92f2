from pathlib import Path

import pytest

from nwx.quality.monitor.new_log_lines import NewLogLines, line_time
from nwx.quality.monitor.state import MonitorState
from tests.unit.quality.monitor.made_crawls import BEGIN, log_line


@pytest.fixture
def state() -> MonitorState:
    return MonitorState("floods", "web", "20261122080000")


def test_times_of_lines() -> None:
    line = log_line("http://a.example/", BEGIN)
    assert line_time(line.encode()) == "20261122080000000"
    assert line_time(line.replace("2026-11-22T08:00:00.000Z", "20261122080000123").encode()) == (
        "20261122080000123"
    )
    assert line_time(b"\xff nonsense") == line_time(b"") == ""


def test_lines_are_counted_once(tmp_path: Path, state: MonitorState) -> None:
    log = tmp_path / "crawl.log"
    lines = [
        log_line("http://a.example/", size=10),
        log_line("https://b.example:8443/x.png", mime="image/png", size=20, took_ms=500),
        log_line("http://b.example/", status=-2),
        log_line("dns:b.example", status=1, mime="text/dns"),
        log_line("http://a.example/again", notes="warcRevisit:digest", size=5),
    ]
    log.write_text("".join(lines) + log_line("http://c.example/")[:50])
    source = NewLogLines(log)
    assert source.take(state) and not source.take(state)
    assert state.log_lines == 5
    assert state.sums.statuses == {200: 3, -2: 1}
    assert (state.sums.totals.bytes, state.sums.totals.pages) == (35, 2)
    assert {one.type for one in state.sums.told_types()} == {"html", "image"}
    assert state.sums.revisits == 1
    assert state.sums.hosts.at("b.example").slowest_ms == 500
    assert state.covered_from == "20261122075959"
    again = NewLogLines(log)
    assert not again.take(state)
    source.close()
    again.close()


def test_what_is_no_line_is_counted_and_shown(tmp_path: Path, state: MonitorState) -> None:
    log = tmp_path / "crawl.log"
    good = log_line("http://a.example/é")
    log.write_bytes(good.encode() + b"nonsense\n" + good.encode() + b"\xff\x00\n\n" + b"cut\n" * 50)
    source = NewLogLines(log)
    assert source.take(state)
    source.close()
    assert state.log_lines == 2 and state.problems_total == 52
    length = len(good.encode())
    offsets = [problem.offset for problem in state.problems]
    assert offsets == [length, 2 * length + 9, 2 * length + 9 + 4]
    assert {problem.file for problem in state.problems} == {"crawl.log"}


def test_a_log_that_is_gone_is_noted(tmp_path: Path, state: MonitorState) -> None:
    log = tmp_path / "crawl.log"
    log.write_text(log_line("http://a.example/"))
    source = NewLogLines(log)
    while source.take(state):
        pass
    log.write_text(log_line("http://b.example/"))
    while source.take(state):
        pass
    source.close()
    assert state.sums.totals.captures == 2
    assert [problem.message for problem in state.problems] == [
        "what was left to read of the log is gone"
    ]
