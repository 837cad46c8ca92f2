from hashlib import md5

import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.steering.comparison.counts import RelevanceCounts, ScoreTable, TimeBins, crawl_harvest
from nwx.steering.specifications.specification import CrawlSpecification


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


SPECIFICATION = CrawlSpecification("floods")


def page(path: str, score: float, *links: LinkScore) -> DocumentScore:
    url = f"http://a.example{path}"
    return DocumentScore(
        "floods", "v", path or "0", url, f"2020010100{len(path):04}", score, links=links
    )


def test_steered_is_compared_with_the_order_in_which_links_were_found(engine: Engine) -> None:
    """Of 20 links the four best lead to relevant pages, as does one of four others followed."""
    links = [LinkScore(f"http://a.example/dull/{n}", 0.2) for n in range(16)]
    links += [LinkScore(f"http://a.example/flood/{n}", 0.8) for n in range(4)]
    pages = [page("", 0.0, *links), *(page(f"/flood/{n}", 0.5) for n in range(4))]
    pages += [page("/dull/0", 0.5), *(page(f"/dull/{n}", 0.0) for n in (1, 2, 3))]
    engine.crawl_index().put_scores(pages)
    harvest = crawl_harvest(engine.crawl_index(), SPECIFICATION)
    assert (harvest.pages, harvest.relevant) == (9, 5)
    assert harvest.breadth_first == pytest.approx(0.25)
    assert [one.host for one in harvest.hosts] == ["a.example"]
    weights = dict(harvest.learned)
    assert weights["url flood"] > weights["url dull"]


def test_of_many_pages_a_sample_is_told_as_such(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.steering.comparison.counts._MOST_PAGES", 3)
    for count, is_sample in ((3, False), (4, True)):
        engine.crawl_index().put_scores([page(f"/{n}", 0.5) for n in range(count)])
        harvest = crawl_harvest(engine.crawl_index(), SPECIFICATION)
        assert (harvest.pages, harvest.is_sample) == (3, is_sample)


def test_without_pages_nothing_is_told(engine: Engine) -> None:
    harvest = crawl_harvest(engine.crawl_index(), SPECIFICATION)
    assert (harvest.pages, harvest.share, harvest.breadth_first) == (0, 0, None)
