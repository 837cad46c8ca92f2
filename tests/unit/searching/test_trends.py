"""The log-likelihood of words, and their sizes in a cloud."""

import pytest

from nwx.searching.trends import DistinctiveWord, log_likelihood, sizes


def test_the_ratio_is_that_of_a_g_test() -> None:
    # From scipy.stats.chi2_contingency of [[10, 20], [90, 380]] with lambda_="log-likelihood".
    assert log_likelihood(10, 30, 100, 500) == pytest.approx(3.138733, abs=1e-5)


@pytest.mark.parametrize(
    "counts",
    [(0, 30, 100, 500), (6, 30, 100, 500), (5, 30, 100, 500), (30, 30, 30, 30), (0, 0, 0, 0)],
)
def test_words_that_are_no_more_frequent_do_not_count(counts: tuple[int, int, int, int]) -> None:
    assert log_likelihood(*counts) == 0.0


def test_a_word_of_the_selection_alone_counts_most() -> None:
    assert log_likelihood(30, 30, 30, 500) > log_likelihood(30, 30, 60, 500) > 0


def test_sizes_of_a_cloud() -> None:
    words = [DistinctiveWord(name, 1, 1, score) for name, score in (("a", 90), ("b", 5), ("c", 1))]
    assert sizes(words, 5)["a"] == 5
    assert sizes(words, 5)["c"] == 1
    assert 1 < sizes(words, 5)["b"] < 5
    assert sizes(words[:1], 5) == {"a": 1}
    assert sizes([], 5) == {}
