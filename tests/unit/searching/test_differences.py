"""Differences between two texts: correct, and bounded for hostile texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.changes import measure_noise
from nwx.searching import differences
from nwx.searching.differences import (
    MAX_LINES,
    MAX_TEXT,
    Difference,
    HostNoise,
    changed_share,
    difference,
    text_changes,
)

LINES = st.lists(st.sampled_from(["a", "b", "c", "long line of words", "x y", "x z"]), max_size=30)


def _sides(found: Difference) -> tuple[list[str], list[str]]:
    """Return the two texts of a difference without folded rows."""
    old = [
        "".join(t for t, _ in row.pieces) for row in found.rows if row.kind in ("same", "removed")
    ]
    new = ["".join(t for t, _ in row.pieces) for row in found.rows if row.kind in ("same", "added")]
    return old, new


@given(LINES, LINES)
def test_both_texts_can_be_read_from_it(old: list[str], new: list[str]) -> None:
    context, differences.CONTEXT = differences.CONTEXT, 10**6
    try:
        found = difference("\n".join(old), "\n".join(new))
    finally:
        differences.CONTEXT = context
    kinds = {row.kind for row in found.rows}
    if old == new:
        assert kinds <= {"skipped"}
        assert (found.removed, found.added) == (0, 0)
    else:
        assert _sides(found) == (old, new)
        assert found.removed == sum(row.kind == "removed" for row in found.rows)
        assert found.added == sum(row.kind == "added" for row in found.rows)


def test_changed_lines_are_compared_by_words() -> None:
    found = difference("one two three", "one four three")
    assert [row.pieces for row in found.rows] == [
        (("one ", False), ("two", True), (" three", False)),
        (("one ", False), ("four", True), (" three", False)),
    ]


def test_what_stays_is_folded() -> None:
    old = "\n".join(f"line {n}" for n in range(100))
    found = difference(old, old.replace("line 50\n", "changed\n"))
    assert [row.count for row in found.rows if row.kind == "skipped"] == [47, 46]
    assert sum(row.kind == "same" for row in found.rows) == 6


def test_moved_lines_are_removed_and_added() -> None:
    found = difference("a\nb\nc", "b\nc\na")
    assert (found.removed, found.added) == (1, 1)


def test_long_lines_are_cut_at_sentences() -> None:
    sentences = [f"This is sentence number {n} of the text." for n in range(40)]
    changed = [*sentences]
    changed[20] = "Another one stands here."
    found = difference(" ".join(sentences), " ".join(changed))
    assert (found.removed, found.added) == (1, 1)


def test_hostile_texts_end_soon_and_say_that_they_are_cut() -> None:
    """Endlessly repeated lines take naive line comparisons hours."""
    one = "\n".join("ab"[n * n % 7 % 2] for n in range(MAX_TEXT))
    other = "\n".join("ab"[n * n % 5 % 2] for n in range(MAX_TEXT))
    found = difference(one, other)
    assert found.cut
    assert len([row for row in found.rows if row.kind != "skipped"]) <= 2 * MAX_LINES


def test_empty_texts() -> None:
    assert difference("", "") == Difference((), 0, 0, cut=False)
    assert difference("", "a").added == 1
    assert difference("a", "").removed == 1


_TEXT = "Harbour office\nToday is Monday\nThe ferry sails at noon\nTicket 12 crowns"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("at noon", "at noon"),
        ("seen 2010-05-03", "seen 2015-01-09"),
        ("session a8f93bc12d034", "session ffe9011230bcd"),
        ("Monday, 3 May", "Monday, 17 May"),
    ],
)
def test_times_and_tokens_are_no_changes(old: str, new: str) -> None:
    assert text_changes(f"Harbour\n{old}\nend", f"Harbour\n{new}\nend") == []


def test_numbers_count_only_where_the_noise_is_learned() -> None:
    noise = HostNoise()
    dearer = text_changes(_TEXT, _TEXT.replace("12", "14"))
    assert noise.without(dearer) == []
    for day, other in ("Monday", "Tuesday"), ("Friday", "Sunday"), ("Sunday", "Monday"):
        changes = text_changes(_TEXT.replace("Monday", day), _TEXT.replace("Monday", other))
        noise.learn("a", changes)
        assert noise.without(changes) == []
    noise.learn("a", dearer)
    (change,) = noise.without(dearer)
    assert (change.old, change.new) == (("12",), ("14",))
    assert changed_share([change], _TEXT, _TEXT) == pytest.approx(2 / 26)


def test_what_changed_once_on_all_pages_is_no_noise() -> None:
    noise = HostNoise()
    renamed = text_changes("Museum\nHarbour", "Gallery\nHarbour")
    for url in "abcdefgh":
        noise.learn(url, renamed)
    assert noise.without(renamed) == renamed


def test_made_pairs_are_told_from_noise() -> None:
    recall, false_alarms, pairs = measure_noise(1)
    assert pairs == 500
    assert recall >= 0.95
    assert false_alarms <= 0.05
