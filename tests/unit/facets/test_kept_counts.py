"""Counts are made once, and what is kept of them is bounded."""

import pytest

from nwx.facets import kept_counts
from nwx.facets.kept_counts import KeptCounts


def test_counts_are_made_once() -> None:
    kept, made = KeptCounts(), []

    def count() -> list[int]:
        made.append(1)
        return [7]

    assert [kept.get("a", count), kept.get("a", count)] == [[7], [7]]
    assert kept.get("b", lambda: 5) == 5
    assert len(made) == 1


def test_a_count_that_fails_is_not_kept() -> None:
    kept = KeptCounts()
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: 1 // 0)
    assert kept.get("a", lambda: 1) == 1


def test_the_groups_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_counts, "KEPT_GROUPS", 10)
    kept = KeptCounts()
    assert kept.get("too many", lambda: [0] * 11) == [0] * 11
    assert kept.get("too many", lambda: [1]) == [1]
    for number in range(5):
        kept.get(number, lambda number=number: [number] * 4)
    assert kept.get(4, lambda: []) == [4] * 4
    assert kept.get(0, lambda: [9]) == [9]
