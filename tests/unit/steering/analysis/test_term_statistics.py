"""How rare the terms of a specification are."""

import pytest

from nwx.steering.analysis.term_statistics import TermStatistics


def test_rarities_are_in_relation_to_their_mean() -> None:
    statistics = TermStatistics(100, {"rare": 1, "common": 90})
    rare, common, unknown = statistics.rarities(["rare", "common", "unknown"])
    assert rare > 1 > common > 0
    assert unknown == 1
    assert (rare + common) / 2 == pytest.approx(1)


def test_without_an_archive_all_terms_are_alike() -> None:
    assert TermStatistics().rarities(["a", "b"]) == [1, 1]
    assert TermStatistics(0, {"a": 5}).rarities(["a", "b"]) == [1, 1]
