"""The page of a running crawl, without a browser."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.quality.monitor.report import MinuteCounts, MonitorReport
from nwx.quality.monitor.state import write_state
from tests.web.monitored import HOSTILE_HOST, seen_crawl, seen_fetch
from webapp import create_app
from webapp.crawls.monitor import (
    MONITOR_CHARTS,
    Span,
    is_late,
    merged_minutes,
    monitor_chart,
    rate_of,
    shown_minutes,
    status_name,
)

LONG_AGO = datetime.now(UTC) - timedelta(days=3)


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Engine]:
    """An archive with a monitored crawl that has a specification, and one that has none."""
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        write_state(engine.quality_index(), seen_crawl("flood"))
        write_state(engine.quality_index(), seen_crawl("old", LONG_AGO))
        engine.crawl_index().save_specification("flood", "v1", "name = 'flood'\n")
        yield engine


@pytest.fixture
def client(archive: Engine) -> FlaskClient:
    return create_app(archive).test_client()


def test_alerts_come_first_and_archived_text_is_escaped(client: FlaskClient) -> None:
    shown = client.get("/crawls/flood").text
    assert shown.index('id="alerts"') < shown.index('id="totals"') < shown.index('id="hosts"')
    assert HOSTILE_HOST not in shown
    assert "&lt;b&gt;evil&lt;/b&gt;.test" in shown
    assert "&lt;i&gt;500&lt;/i&gt;" in shown
    assert "1 earlier alert" in shown
    assert "a line &lt;u&gt;without" in shown
    assert "Linked URLs by relevance" in client.get("/crawls/flood?tab=specification").text
    assert "no longer monitored" not in shown


def test_errors_are_a_share_of_what_was_asked(archive: Engine, client: FlaskClient) -> None:
    state = seen_crawl("silent", fetches=0)
    for number in range(12):
        status = 200 if number < 3 else -2
        state.sums.add_fetch(seen_fetch(0, state.looked)._replace(status=status))
    state.sums.add_fetch(seen_fetch(0, state.looked)._replace(status=-9998))
    write_state(archive.quality_index(), state)
    shown = client.get("/crawls/silent").text
    assert shown.count('9 <span class="quiet">(75%)</span>') == 3


def test_a_crawl_without_a_specification(client: FlaskClient) -> None:
    shown = client.get("/crawls/old").text
    assert "This crawl is no longer monitored" in shown
    assert '<noscript><meta http-equiv="refresh"' in shown
    assert "Linked URLs" not in shown
    assert client.get("/crawls/unknown").status_code == 404
    assert client.get("/crawls/unknown/monitor").status_code == 404


def test_the_part_that_renews_itself_is_the_one_of_the_page(client: FlaskClient) -> None:
    part = client.get("/crawls/flood/monitor").text.strip()
    assert part.startswith('<div class="monitor"')
    assert part in client.get("/crawls/flood").text


def test_the_list_has_monitored_crawls(client: FlaskClient) -> None:
    shown = client.get("/crawls").text
    rows = shown[shown.index('id="monitored"') :].split("<tr>")[2:]
    assert ["runs" in row for row in rows] == [True, False]
    assert "/crawls/old" in rows[1]


def test_numbers_as_json(client: FlaskClient) -> None:
    found: Any = client.get("/api/crawls/flood/monitor").json
    assert found["totals"]["pages"] == 12
    assert found["totals"]["captures"] == 48
    assert found["queued"] == 1234
    assert found["is_late"] is False
    assert [alert["kind"] for alert in found["alerts"]] == ["errors", "rate"]
    old: Any = client.get("/api/crawls/old/monitor").json
    assert old["is_late"] is True
    assert client.get("/api/crawls/unknown/monitor").status_code == 404
    assert client.get("/api/crawls/flood/monitor?x=1").status_code == 400


@pytest.mark.parametrize("chart", MONITOR_CHARTS)
def test_charts_are_pictures(client: FlaskClient, chart: str) -> None:
    drawn = client.get(f"/crawls/flood/monitor/{chart}.svg?span=hour&narrow=1")
    assert drawn.mimetype == "image/svg+xml"
    assert "evil" not in drawn.text or "<b>" not in drawn.text


def test_what_is_no_chart(client: FlaskClient) -> None:
    for address in ("none.svg", "bytes.gif"):
        assert client.get(f"/crawls/flood/monitor/{address}").status_code == 404
    for question in ("span=week", "scheme=red"):
        assert client.get(f"/crawls/flood/monitor/bytes.svg?{question}").status_code == 400


def report(*minutes: MinuteCounts, **more: Any) -> MonitorReport:
    return MonitorReport("x", "", "20260101000000", minutes=minutes, **more)


def test_spans_end_with_the_newest_fetch() -> None:
    day = [MinuteCounts(f"202603051{hour}{minute}") for hour in "012" for minute in ("00", "30")]
    found = report(*day)
    assert shown_minutes(found, Span.ALL) == day
    assert [one.minute[8:] for one in shown_minutes(found, Span.HOUR)] == ["1200", "1230"]
    assert shown_minutes(report(), Span.HOUR) == []
    odd = MinuteCounts("99991231235")
    assert shown_minutes(report(odd), Span.DAY) == [odd]


def test_minutes_are_merged_where_they_are_many() -> None:
    minutes = [MinuteCounts(f"2026030512{number:02}", pages=number) for number in range(60)]
    later = MinuteCounts("202603051400", pages=7)
    merged = merged_minutes([*minutes, later], 6)
    assert sum(one.pages for one in merged) == sum(range(60)) + 7
    assert merged[0] == MinuteCounts("202603051200", 660, pages=sum(range(11)))
    assert merged[-1] == later
    assert len(merged) == 7
    assert rate_of(merged[0], "pages") == 5.0


def test_rates_are_none_where_nothing_was_counted() -> None:
    gap = report(MinuteCounts("202603051200", pages=3), MinuteCounts("202603051205", pages=1))
    spec = monitor_chart(gap, "fetches", Span.ALL, 960)
    pages = [row for row in spec["data"]["values"] if row["series"] == "pages"]
    assert [(row["time"][11:16], row["value"]) for row in pages] == [
        ("12:00", 3.0),
        ("12:01", 0.0),
        ("12:05", 1.0),
        ("12:06", 0.0),
    ]


@pytest.mark.parametrize(
    ("status", "name"),
    [
        (404, "404"),
        (0, "not known"),
        (-2, "no answer (-2)"),
        (-9998, "denied by robots.txt (-9998)"),
        (-5003, "not fetched (-5003)"),
    ],
)
def test_statuses_in_words(status: int, name: str) -> None:
    assert status_name(status) == name


def test_a_monitor_is_late_after_some_looks() -> None:
    now = datetime.now(UTC)

    def looked(seconds: int, interval: float) -> MonitorReport:
        at = (now - timedelta(seconds=seconds)).strftime("%Y%m%d%H%M%S")
        return report(looked=at, interval_seconds=interval)

    assert not is_late(looked(30, 5))
    assert is_late(looked(90, 5))
    assert not is_late(looked(90, 60))
    assert is_late(report())
