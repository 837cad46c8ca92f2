from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from nwx.errors import SettingsError
from nwx.quality.monitor.alerts import (
    AlertReading,
    AlertThresholds,
    CrawlSurroundings,
    DiskSpace,
    Limit,
    next_alerts,
    read_thresholds,
    readings,
)
from nwx.quality.monitor.report import Alert, AlertKind
from nwx.quality.monitor.sums import Sums
from nwx.values.timestamps import to_timestamp
from tests.unit.quality.monitor.test_sums import fetch


def written(folder: Path, text: str) -> Path:
    path = folder / "alerts.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_not_named_is_as_by_default(tmp_path: Path) -> None:
    assert read_thresholds(written(tmp_path, "")) == AlertThresholds()
    found = read_thresholds(
        written(tmp_path, "[alerts]\nerrors = 0.9\nwall = [0.8, 0.2]\nhost_fetches = 50\n")
    )
    assert found == AlertThresholds(errors=Limit(0.9, 0.81), wall=Limit(0.8, 0.2), host_fetches=50)


@pytest.mark.parametrize(
    "text",
    [
        "alerts = 3",
        "[alerts]\nerror = 0.5",
        "[alerts]\nerrors = 'many'",
        "[alerts]\nerrors = 1.5",
        "[alerts]\nerrors = [0.2, 0.5]",
        "[alerts]\nerrors = [0.2]",
        "[alerts]\nerrors = true",
        "[alerts]\nquiet_minutes = -1",
        "[alerts",
        "[alerts]\nerrors = 0x" + "f" * 9_000,
        "[alerts]\nerrors = [0.5, 0x" + "f" * 9_000 + "]",
        "[alerts]\nerrors = " + "[" * 9_000,
    ],
)
def test_what_makes_no_sense(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match=r"alerts\.toml"):
        read_thresholds(written(tmp_path, text))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot be read"):
        read_thresholds(tmp_path / "alerts.toml")


NOON = datetime(2026, 11, 22, 12, tzinfo=UTC)


def measured(sums: Sums, **around: object) -> dict[AlertKind, float]:
    values: dict[str, object] = {"now": NOON} | around
    found = readings(sums, AlertThresholds(), CrawlSurroundings(**values))  # type: ignore[arg-type]
    return {one.kind: one.value for one in found}


def at(minutes: float) -> str:
    return to_timestamp(NOON + timedelta(minutes=minutes))


def crawled(statuses: list[int], **more: object) -> Sums:
    sums = Sums()
    for number, status in enumerate(statuses):
        sums.add_fetch(fetch(f"{number}", status, timestamp=at(-1), content=f"{number}", **more))
    return sums


def test_few_fetches_measure_nothing() -> None:
    assert measured(Sums()) == {}
    assert measured(crawled([500] * 9)) == {}
    assert AlertKind.ERRORS not in measured(crawled([500] * 19))


def test_errors_and_silence_are_apart() -> None:
    found = measured(crawled([500] * 15 + [-2] * 10))
    assert found == {AlertKind.SILENT: 0.4, AlertKind.ERRORS: 0.6, AlertKind.ROBOTS: 0.0}


def test_denials_by_robots_are_no_errors() -> None:
    found = measured(crawled([-9998] * 30))
    assert found == {AlertKind.ROBOTS: 1.0}
    sums = crawled([200])
    sums.hosts.named("a.example").denials.all_denied = True
    assert measured(sums) == {AlertKind.ROBOTS: 1.0}


def test_a_host_that_is_asked_no_more_is_not_measured() -> None:
    sums = crawled([500] * 40)
    sums.add_fetch(fetch(host="b.example", timestamp=at(70)))
    assert measured(sums) == {}


def test_traps_and_walls() -> None:
    def pages(number: int, contents: int, urls: int) -> Sums:
        sums = Sums()
        for n in range(number):
            one = fetch(f"{n % urls}", timestamp=at(-1), content=f"{n % contents}")
            sums.add_fetch(one)
        return sums

    assert AlertKind.TRAP not in measured(pages(200, 1, 200))
    assert measured(pages(256, 5, 256))[AlertKind.TRAP] > 0.95
    assert measured(pages(256, 256, 256))[AlertKind.TRAP] < 0.1
    assert measured(pages(256, 5, 5))[AlertKind.TRAP] == 0
    sums = pages(256, 1, 256)
    for n in range(30):
        sums.hosts.named("a.example").texts.add(f"http://a.example/{n}", "log in", "Log in")
    found = measured(sums)
    assert found[AlertKind.WALL] > 0.9 and found[AlertKind.TRAP] == 0


def test_a_fall_of_the_rate() -> None:
    sums = Sums()
    for second in range(0, 30 * 60, 3):
        sums.add_fetch(fetch(timestamp=to_timestamp(NOON - timedelta(minutes=35, seconds=-second))))
    for minute in range(5):
        sums.add_fetch(fetch(timestamp=at(minute - 5)))
    assert measured(sums)[AlertKind.RATE] == 0.95
    assert AlertKind.RATE not in measured(sums, queued=0)
    assert AlertKind.RATE in measured(sums, queued=1)
    assert AlertKind.RATE not in measured(sums, now=NOON + timedelta(hours=1))


def test_disks() -> None:
    def used(total: float, free: float) -> float:
        space = DiskSpace(int(total * 1e9), int(free * 1e9))
        return measured(Sums(), disks={"/warcs": space})[AlertKind.DISK]

    assert used(1_000, 400) == 0.6
    assert used(1_000, 30) == 0.97
    assert used(10, 1.5) == 0.95
    assert used(10, 2.2) == 0.93
    assert used(0, 0) == 0.95


LIMIT = Limit(0.5, 0.25)


def reading(value: float, host: str = "a.example") -> AlertReading:
    return AlertReading(AlertKind.ERRORS, host, value, LIMIT, f"{value}")


def after(minutes: float) -> datetime:
    return NOON + timedelta(minutes=minutes)


def look(
    alerts: list[Alert], minutes: float, *found: AlertReading
) -> tuple[list[Alert], list[Alert]]:
    then, new, _ = next_alerts(alerts, found, after(minutes), 5.0)
    return then, new


def test_an_alert_begins_goes_on_and_ends() -> None:
    alerts, new = look([], 0, reading(0.4))
    assert alerts == [] and new == []
    alerts, new = look(alerts, 1, reading(0.5))
    assert alerts == new and alerts[0].since == alerts[0].last == to_timestamp(after(1))
    alerts, new = look(alerts, 2, reading(0.3))
    assert not new and alerts[0].last == to_timestamp(after(2)) and alerts[0].value == 0.3
    alerts, new = look(alerts, 6, reading(0.1))
    assert not new and not alerts[0].cleared
    alerts, new = look(alerts, 7, reading(0.1))
    assert not new and alerts[0].cleared == to_timestamp(after(7))
    alerts, new = look(alerts, 8, reading(0.9))
    assert len(alerts) == 2 and new == [alerts[1]] and alerts[1].since == to_timestamp(after(8))


def test_what_goes_up_and_down_is_one_alert() -> None:
    alerts: list[Alert] = []
    begun = 0
    for minute in range(120):
        alerts, new = look(alerts, minute, reading(0.8 if minute % 4 == 0 else 0.1))
        begun += len(new)
    assert begun == len(alerts) == 1


def test_what_is_measured_no_more_ends() -> None:
    alerts, _ = look([], 0, reading(0.9))
    alerts, _ = look(alerts, 4)
    assert not alerts[0].cleared
    alerts, _ = look(alerts, 5)
    assert alerts[0].cleared


def test_the_number_of_alerts_is_bounded() -> None:
    many = [reading(0.9, f"{number}.example") for number in range(3_000)]
    alerts, new, passed_over = next_alerts([], many, NOON, 5.0)
    assert len(alerts) == len(new) == 1_000 and passed_over == 2_000
    alerts, new, _ = next_alerts(alerts, [], after(10), 5.0)
    assert len(alerts) == 200 and not new
