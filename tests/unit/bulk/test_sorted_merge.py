"""Sorted lines from many places become one stream."""

import random
from collections.abc import Iterator
from itertools import chain

from nwx.bulk.sorted_file import Distinct, LineBatch, merged_lines


def batches(lines: list[bytes], size: int) -> Iterator[LineBatch]:
    return (lines[begin : begin + size] for begin in range(0, len(lines), size))


def test_all_lines_come_in_order() -> None:
    chance = random.Random(5)
    sources = [
        sorted(b"%03d" % chance.randrange(300) for _ in range(chance.randrange(90)))
        for _ in range(9)
    ]
    merged = merged_lines(batches(lines, chance.randrange(1, 20)) for lines in sources)
    assert [line for batch in merged for line in batch] == sorted(chain(*sources))


def test_no_source_gives_nothing() -> None:
    assert list(merged_lines([])) == []
    assert list(merged_lines([iter([]), iter([])])) == []


def test_lines_that_repeat_the_one_before_are_left_out_and_counted() -> None:
    distinct = Distinct([[b"a", b"a", b"b"], [], [b"b"], [b"c"]])
    assert list(distinct) == [[b"a", b"b"], [b"c"]]
    assert distinct.repeated == 2
