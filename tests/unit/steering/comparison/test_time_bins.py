from nwx.steering.comparison.time_bins import TimeBins


def test_periods_become_coarser_the_more_there_are() -> None:
    bins = TimeBins(most=3)
    for day in range(1, 5):
        bins.add(f"201401{day:02}120000", relevant=day == 2)
    assert list(bins.periods(3)) == [("201401", 4, 1)]
    bins.add("20140228000000", relevant=True)
    assert list(bins.periods(3)) == [("201401", 4, 1), ("201402", 1, 1)]
    assert list(bins.periods(1)) == [("2014", 5, 2)]


def test_few_periods_stay_as_they_are() -> None:
    bins = TimeBins()
    for second in (2, 1, 1):
        bins.add(f"2014010112000{second}", relevant=second == 1)
    assert list(bins.periods(10)) == [("20140101120001", 2, 2), ("20140101120002", 1, 0)]


def test_years_are_the_coarsest() -> None:
    bins = TimeBins(most=1)
    bins.add("20130101000000", relevant=False)
    bins.add("20140101000000", relevant=True)
    assert [period for period, _, _ in bins.periods(1)] == ["2013", "2014"]
