from datetime import UTC, datetime, timedelta

from nwx.quality.monitor.time_bins import CrawlCounts, MinuteBins

NEWEST = datetime(2026, 11, 22, 8, 30, tzinfo=UTC)


def times(*ages: timedelta) -> list[str]:
    return [(NEWEST - age).strftime("%Y%m%d%H%M%S") for age in ages]


def test_older_times_are_summed_up_by_hour_day_and_year() -> None:
    bins = MinuteBins()
    days = [timedelta(days=n) for n in (0, 0.5, 2, 2.01, 40, 40.1, 1500, 1501, 3000)]
    for time in times(*days):
        bins.at(time).captures += 1
    told = [(one.minute, one.seconds, one.captures) for one in bins.told()]
    assert sum(count for _, _, count in told) == len(days)
    assert [seconds for _, seconds, _ in told] == [31_536_000, 31_536_000, 86_400, 3_600, 60, 60]
    assert all(len(minute) == 12 for minute, _, _ in told)


def test_the_order_of_arrival_does_not_matter() -> None:
    all_times = times(*(timedelta(minutes=97 * n) for n in range(20_000)))
    told = []
    for order in (all_times, all_times[::-1], all_times[1::2] + all_times[::2]):
        bins = MinuteBins()
        for time in order:
            bins.at(time).bytes += 3
        assert len(bins.bins) <= 8_000
        told.append(bins.told())
    assert told[0] == told[1] == told[2]
    assert sum(one.bytes for one in told[0]) == 60_000
    assert len(told[0]) < 4_000


def test_sums_between_two_minutes() -> None:
    bins = MinuteBins()
    for time in times(*(timedelta(minutes=n) for n in range(10))):
        bins.at(time).add(CrawlCounts(captures=2))
    assert bins.between("202611220825", "202611220828").captures == 6
    assert bins.between("202611210825", "202611210828").captures == 0
