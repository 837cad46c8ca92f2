from hashlib import md5

from nwx.steering.comparison.counts import RelevanceCounts, ScoreTable, TimeBins


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


def test_scores_are_found_by_ids() -> None:
    scores = {md5(str(number).encode()).hexdigest(): number / 1000 for number in range(1000)}
    table = ScoreTable(scores.items())
    assert len(table) == 1000
    assert all(abs(score - (table.score(id) or 0.0)) < 1e-6 for id, score in scores.items())
    assert table.score("0" * 32) is None
    assert ScoreTable().score("0" * 32) is None


def test_counts_of_scores() -> None:
    counts = RelevanceCounts(threshold=0.5)
    for day, score in enumerate((0.05, 0.5, 1.0, None), 1):
        counts.add(f"2014010{day}000000", score)
    assert (counts.pages, counts.relevant, counts.unscored) == (3, 2, 1)
    assert counts.distribution == [1, 0, 0, 0, 0, 1, 0, 0, 0, 1]
    assert [(one.pages, one.relevant) for one in counts.harvest()] == [(1, 0), (2, 1), (3, 2)]


def test_nothing_has_no_rates() -> None:
    counts = RelevanceCounts(threshold=0.5)
    assert (counts.mean, counts.harvest_rate) == (None, None)
