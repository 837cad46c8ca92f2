"""Positions are found in sorted lines, wherever lines begin and end."""

import random
from collections.abc import Iterator
from itertools import chain

import pytest

from nwx.bulk import sorted_file
from nwx.bulk.sorted_file import (
    MAX_SORTED_LINE_BYTES,
    Distinct,
    LineBatch,
    SortedFile,
    merged_lines,
)
from nwx.errors import FormatError


def file_of(content: bytes, begin: int = 0) -> SortedFile:
    def read(offset: int, length: int) -> bytes:
        return content[offset : offset + length]

    return SortedFile("a file", read, len(content), begin)


@pytest.mark.parametrize("end", [b"", b"\n", b"\n\n"])
@pytest.mark.parametrize("probe", [8, 50, 1 << 12])
def test_places_are_those_of_a_walk_through_all_lines(
    probe: int, end: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorted_file, "_PROBE_BYTES", probe)
    chance = random.Random(probe)
    for count in range(12):
        lines = sorted(
            bytes(chance.choices(b"abc", k=chance.choice((1, 2, 3, 90)))) for _ in range(count)
        )
        content = b"# head\n" + b"\n".join(lines) + end
        found = file_of(content, begin=7)
        placed = list(found.lines())
        assert [line for _, line in placed] == lines
        assert all(content[at:].startswith(line) for at, line in placed)
        for wanted in (*lines, b"", b"b", b"bb", b"d"):
            before = [at for at, line in placed if line < wanted]
            behind = [at for at, line in placed if line >= wanted]
            assert found.first_not_before(wanted.__gt__) == (behind or [len(content)])[0]
            assert found.last_before(wanted.__gt__) == (before or [7])[-1]


def test_searches_read_their_first_steps_once() -> None:
    content = b"".join(b"%06d %s\n" % (number, b"x" * 100) for number in range(5_000))
    reads: list[int] = []

    def read(offset: int, length: int) -> bytes:
        reads.append(offset)
        return content[offset : offset + length]

    found = SortedFile("a file", read, len(content))
    for number in (3_333, 3_334, 4_999):
        reads.clear()
        assert next(found.lines_not_before((b"%06d" % number).__gt__)).line[:6] == b"%06d" % number
        if number == 3_334:
            assert len(reads) < 3


def test_gaps_between_lines_lead_nobody_astray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorted_file, "_PROBE_BYTES", 4)
    content = b"a\n" + b"\n" * 100 + b"b\n" + b"\n" * 300 + b"c\n"
    found = file_of(content)
    assert [line for _, line in found.lines()] == [b"a", b"b", b"c"]
    assert content[found.first_not_before(b"b".__gt__) :][:1] == b"b"
    assert content[found.last_before(b"b".__gt__) :][:1] == b"a"


def test_the_line_at_an_offset_is_the_next_that_begins() -> None:
    found = file_of(b"aa\nbb\n\ncc")
    assert [placed and placed.line for placed in map(found.line_at, range(9))] == [
        b"aa",
        *[b"bb"] * 3,
        *[b"cc"] * 4,
        None,
    ]


def test_a_line_that_is_too_long_is_told_with_its_place() -> None:
    found = file_of(b"a\n" + b"b" * (MAX_SORTED_LINE_BYTES * 2) + b"\n")
    with pytest.raises(FormatError, match="a file at 2: a line of more than 1048576 bytes"):
        list(found.lines())


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
