"""The difference between two texts: right, and bounded for hostile ones."""

from hypothesis import given
from hypothesis import strategies as st

from nwx.searching import differences
from nwx.searching.differences import MAX_LINES, MAX_TEXT, Difference, difference

LINES = st.lists(st.sampled_from(["a", "b", "c", "long line of words", "x y", "x z"]), max_size=30)


def _sides(found: Difference) -> tuple[list[str], list[str]]:
    """Return the two texts that a difference without folded rows shows."""
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
    """Lines that repeat without end are what line by line comparisons take hours for."""
    one = "\n".join("ab"[n * n % 7 % 2] for n in range(MAX_TEXT))
    other = "\n".join("ab"[n * n % 5 % 2] for n in range(MAX_TEXT))
    found = difference(one, other)
    assert found.cut
    assert len([row for row in found.rows if row.kind != "skipped"]) <= 2 * MAX_LINES


def test_empty_texts() -> None:
    assert difference("", "") == Difference((), 0, 0, cut=False)
    assert difference("", "a").added == 1
    assert difference("a", "").removed == 1
