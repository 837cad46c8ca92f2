from hashlib import md5

from nwx.steering.comparison.document_relevance import RelevanceCounts, ScoreTable


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
