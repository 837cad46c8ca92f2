from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.quality.monitor.new_fetches import NewCaptures, NewLogLines, line_time, logged_queue
from nwx.quality.monitor.state import MonitorState
from tests.conformance.archive import batch, page
from tests.unit.quality.monitor.made_crawls import BEGIN, log_line


def taken(engine: Engine, state: MonitorState, stops: int = 0) -> MonitorState:
    pauses = iter([True] * stops)
    NewCaptures(engine).take(state, engine.capture_mark(), lambda: next(pauses, False))
    return state


def test_without_an_archive_nothing_is_new(engine: Engine) -> None:
    assert taken(engine, MonitorState("a", "web", "")).sums.archived == 0


def test_it_goes_on_where_it_was_stopped(engine: Engine) -> None:
    pages = [page(f"http://a.example/{n}", content=f"text {n}", offset=n) for n in range(1_700)]
    engine.write(batch(pages))
    engine.refresh()
    state = MonitorState("a", "web", "")
    assert taken(engine, state, stops=1).sums.archived == 500
    assert taken(engine, state, stops=1).sums.archived == 1_000
    assert taken(engine, state).sums.archived == 1_700
    assert taken(engine, state).sums.totals.new_documents == 1_700


def test_robots_txt_is_read(engine: Engine) -> None:
    def robots(host: str, content: str) -> object:
        return page(f"http://{host}/robots.txt", content=content, content_type="text/plain")

    engine.write(
        batch(
            [
                robots("all.example", "User-agent: *\nDisallow: /\n"),  # type: ignore[list-item]
                robots("some.example", "User-agent: *\nDisallow: /private\n"),
                robots("other.example", "User-agent: bad\nDisallow: /\n"),
                robots("empty.example", ""),
                robots("odd.example", "\x00\ufffd:::\nDisallow"),
                robots("delay.example", "User-agent: *\nCrawl-delay: ²\nDisallow: /\n"),
                robots("digits.example", f"User-agent: *\nCrawl-delay: {'9' * 5_000}\n"),
                robots("address.example", "User-agent: *\nDisallow: //[x\n"),
            ]
        )
    )
    engine.refresh()
    hosts = taken(engine, MonitorState("a", "web", "")).sums.hosts.hosts
    denied = {name for name, host in hosts.items() if host.denials.all_denied}
    assert len(hosts) == 8 and denied == {"all.example"}


def test_ports_of_a_host_are_counted_apart(engine: Engine) -> None:
    pages = [
        page(f"http://intranet.example{port}/{n}", content=f"{port} {n}", offset=n + 10 * len(port))
        for port in ("", ":8080")
        for n in range(1 + len(port))
    ]
    engine.write(batch(pages))
    engine.refresh()
    state = taken(engine, MonitorState("a", "web", ""))
    counts = {name: host.captures for name, host in state.sums.hosts.hosts.items()}
    assert counts == {"intranet.example": 1, "intranet.example:8080": 6}


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
    assert state.sums.hosts.named("b.example:8443").slowest_ms == 500
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
    assert [problem.message for problem in state.problems] == ["the unread part of the log is gone"]


LINE = "2026-11-22T05:15:4{}Z 12{} 40 80 3.99(4.01) 101(100) 2 25 120000 250000 0.5 12 3\n"


def test_the_last_whole_line_counts(tmp_path: Path) -> None:
    log = tmp_path / "crawl.log"
    assert logged_queue(log) is None
    statistics = tmp_path / "progress-statistics.log"
    statistics.write_text("20261122 CRAWL RESUMED - Running\n")
    assert logged_queue(log) is None
    statistics.write_text("[timestamp] [discovered] [queued]\n" + LINE.format(1, 1) * 2_000)
    with statistics.open("a") as stream:
        stream.write(LINE.format(2, 5) + "20261122 CRAWL ENDED - Finished\n" + "2026-11-22T1 9 9 9")
    assert logged_queue(log) == {"discovered": 125, "queued": 40, "downloaded": 80}


def test_garbage_is_no_queue(tmp_path: Path) -> None:
    (tmp_path / "progress-statistics.log").write_bytes(b"\xff\x00\n" * 50_000)
    assert logged_queue(tmp_path / "crawl.log") is None
