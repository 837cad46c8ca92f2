from datetime import UTC, datetime, timedelta

from nwx.quality.monitor.readings import CrawlSurroundings, DiskSpace, readings
from nwx.quality.monitor.report import AlertKind
from nwx.quality.monitor.sums import Sums
from nwx.quality.monitor.thresholds import AlertThresholds
from nwx.values.timestamps import to_timestamp
from tests.unit.quality.monitor.test_sums import fetch

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
    sums.hosts.at("a.example").denials.all_denied = True
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
        sums.hosts.at("a.example").texts.add(f"http://a.example/{n}", "log in", "Log in")
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
