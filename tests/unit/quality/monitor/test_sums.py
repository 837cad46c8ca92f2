from datetime import UTC, datetime, timedelta

from nwx.quality.monitor.report import MinuteCounts, TypeCounts
from nwx.quality.monitor.sums import CrawlCounts, Fetch, MinuteBins, Sums

NEWEST = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)


def times(*ages: timedelta) -> list[str]:
    return [(NEWEST - age).strftime("%Y%m%d%H%M%S") for age in ages]


def test_older_times_are_summed_up_by_hour_day_and_year() -> None:
    bins = MinuteBins()
    days = [timedelta(days=n) for n in (0, 0.5, 2, 2.01, 40, 40.1, 1500, 1501, 3000)]
    for time in times(*days):
        bins.counts_at(time).captures += 1
    told = [(one.minute, one.seconds, one.captures) for one in bins.minutes()]
    assert sum(count for _, _, count in told) == len(days)
    assert [seconds for _, seconds, _ in told] == [31_536_000, 31_536_000, 86_400, 3_600, 60, 60]
    assert all(len(minute) == 12 for minute, _, _ in told)


def test_the_order_of_arrival_does_not_matter() -> None:
    all_times = times(*(timedelta(minutes=97 * n) for n in range(20_000)))
    told = []
    for order in (all_times, all_times[::-1], all_times[1::2] + all_times[::2]):
        bins = MinuteBins()
        for time in order:
            bins.counts_at(time).bytes += 3
        assert len(bins.bins) <= 8_000
        told.append(bins.minutes())
    assert told[0] == told[1] == told[2]
    assert sum(one.bytes for one in told[0]) == 60_000
    assert len(told[0]) < 4_000


def test_sums_between_two_minutes() -> None:
    bins = MinuteBins()
    for time in times(*(timedelta(minutes=n) for n in range(10))):
        bins.counts_at(time).add(CrawlCounts(captures=2))
    assert bins.between("202611220825", "202611220828").captures == 6
    assert bins.between("202611210825", "202611210828").captures == 0


def fetch(path: str = "", status: int = 200, **other: object) -> Fetch:
    values: dict[str, object] = {
        "url": f"http://a.example/{path}",
        "host": "a.example",
        "timestamp": "20261122081530",
        "status": status,
        "type": "html",
        "bytes": 100,
        "content": "sha1:A",
    }
    return Fetch(**values | other)  # type: ignore[arg-type]


def test_what_is_counted_of_fetches() -> None:
    sums = Sums()
    for one in (
        fetch("a", took_ms=10),
        fetch("b", took_ms=30, is_revisit=True),
        fetch("c.png", type="image"),
        fetch("d", 404),
        fetch("e", -2, type="unknown"),
        fetch("f", -9998, type="unknown"),
        fetch("g", 301),
        fetch("h", timestamp="20261122081659"),
    ):
        sums.add_fetch(one)
    sums.add_archived("20261122081530", 100, is_new=True, is_known=False)
    sums.add_archived("20261122081530", 50, is_new=False, is_known=True)
    assert sums.totals.minute_counts() == MinuteCounts("", 60, 3, 6, 600, 2, 2, 1)
    assert [one.minute for one in sums.times.minutes()] == ["202611220815", "202611220816"]
    assert sums.statuses == {200: 4, 404: 1, -2: 1, -9998: 1, 301: 1}
    assert sums.told_types() == (TypeCounts("html", 5, 500), TypeCounts("image", 1, 100))
    (host,) = sums.hosts.top_hosts()
    assert (host.captures, host.pages, host.errors, host.unanswered, host.robots) == (6, 3, 2, 1, 1)
    assert (host.mean_ms, host.slowest_ms, host.last) == (20, 30, "20261122081659")
    assert (sums.first, sums.last) == ("20261122081530", "20261122081659")
    assert (sums.archived, sums.archived_bytes) == (2, 150)
    assert (sums.revisits, sums.documents_known) == (1, 1)


def test_a_time_that_cannot_be_is_none() -> None:
    sums = Sums(latest="20261123000000")
    sums.add_fetch(fetch())
    for wrong in ("29991231235959", "00010101000000", "09990229000000"):
        sums.add_fetch(fetch(timestamp=wrong))
    assert sums.totals.captures == 4
    assert [one.captures for one in sums.times.minutes()] == [1]
    assert sums.first == sums.last == sums.hosts.hosts["a.example"].last == "20261122081530"


def test_names_are_cut() -> None:
    sums = Sums()
    sums.add_fetch(fetch(host="a" * 500_000))
    sums.hosts.named("a" * 500_000).texts.add("http://a.example/", "text", "title" * 1_000)
    (name,) = sums.hosts.hosts
    assert len(name) == 255 and len(sums.hosts.named(name).texts.title) == 200


def test_the_number_of_statuses_is_bounded() -> None:
    sums = Sums()
    for status in range(-5_000, 0):
        sums.add_fetch(fetch(status=status))
    assert len(sums.statuses) <= 501 and sum(sums.statuses.values()) == 5_000
