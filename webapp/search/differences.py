"""The difference between two texts, in bounded time whatever the texts."""

import re
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

MAX_TEXT = 400_000
MAX_LINES = 5_000
LONG_LINE = 400
SECONDS = 1.0
GAP = 10_000
CONTEXT = 3
MAX_WORDS = 300

DifferenceKind = Literal["same", "removed", "added", "skipped"]
TextPiece = tuple[str, bool]
_SENTENCE = re.compile(r"(?<=[.!?。！？…])\s+|(?<=。)")
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """A line of the difference: pieces of text and whether each has changed.

    A `skipped` row stands for `count` lines that are the same.
    """

    kind: DifferenceKind
    pieces: tuple[TextPiece, ...] = ()
    count: int = 1


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows, the lines that went and came, and whether the texts were too long to show whole."""

    rows: tuple[DifferenceRow, ...]
    removed: int
    added: int
    cut: bool


def difference(old: str, new: str) -> Difference:
    """Return what changed between two texts, line by line and in changed lines word by word."""
    old_lines, old_cut = _lines(old)
    new_lines, new_cut = _lines(new)
    deadline = time.monotonic() + SECONDS
    blocks = list(_blocks(old_lines, new_lines, deadline))
    rows: list[DifferenceRow] = []
    removed = added = 0
    for old_block, new_block in blocks:
        if old_block == new_block:
            rows += [DifferenceRow("same", ((line, False),)) for line in old_block]
            continue
        removed += len(old_block)
        added += len(new_block)
        rows += _changed(old_block, new_block, deadline)
    return Difference(tuple(_folded(rows)), removed, added, old_cut or new_cut)


def _lines(text: str) -> tuple[list[str], bool]:
    """Return the lines of a text, long ones cut at sentences, and whether some were left out."""
    lines: list[str] = []
    for line in text[:MAX_TEXT].splitlines():
        if len(line) <= LONG_LINE:
            lines.append(line)
            continue
        for sentence in _SENTENCE.split(line):
            lines += [sentence[at : at + LONG_LINE] for at in range(0, len(sentence), LONG_LINE)]
    lines = [line for line in lines if line.strip()]
    return lines[:MAX_LINES], len(text) > MAX_TEXT or len(lines) > MAX_LINES


DifferenceBlock = tuple[Sequence[str], Sequence[str]]


def _blocks(old: Sequence[str], new: Sequence[str], deadline: float) -> Iterator[DifferenceBlock]:
    """Yield pairs of lines, the same or changed, that make up both texts.

    Lines that each text has once and that come in the same order are fixed
    points (Bram Cohen's patience diff); difflib, whose time grows with the
    square of the lines and worse, sees the small gaps between them only.
    """
    at_old = at_new = 0
    for fixed_old, fixed_new in [*_fixed_points(old, new), (len(old), len(new))]:
        yield from _gap(old[at_old:fixed_old], new[at_new:fixed_new], deadline)
        yield old[fixed_old : fixed_old + 1], new[fixed_new : fixed_new + 1]
        at_old, at_new = fixed_old + 1, fixed_new + 1


def _fixed_points(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    once = Counter(new)
    place = {line: index for index, line in enumerate(new) if once[line] == 1}
    twice = Counter(old)
    pairs = [
        (index, place[line]) for index, line in enumerate(old) if line in place and twice[line] == 1
    ]
    return _longest_rising(pairs)


def _longest_rising(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the longest run of pairs whose second numbers rise."""
    ends: list[int] = []
    holders: list[int] = []
    before: list[int] = []
    for index, (_, value) in enumerate(pairs):
        at = bisect_left(ends, value)
        before.append(holders[at - 1] if at else -1)
        ends[at : at + 1] = [value]
        holders[at : at + 1] = [index]
    run: list[tuple[int, int]] = []
    index = holders[-1] if holders else -1
    while index >= 0:
        run.append(pairs[index])
        index = before[index]
    return run[::-1]


def _gap(old: Sequence[str], new: Sequence[str], deadline: float) -> Iterator[DifferenceBlock]:
    if len(old) * len(new) > GAP or time.monotonic() > deadline:
        yield from _ends(old, new)
        return
    for _, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        yield old[i1:i2], new[j1:j2]


def _ends(old: Sequence[str], new: Sequence[str]) -> Iterator[DifferenceBlock]:
    """Yield a gap too big to look into: what is the same at its ends, and the rest as changed."""
    shorter = min(len(old), len(new))
    head = next((i for i in range(shorter) if old[i] != new[i]), shorter)
    rest = shorter - head
    tail = next((i for i in range(rest) if old[-1 - i] != new[-1 - i]), rest)
    yield old[:head], new[:head]
    yield old[head : len(old) - tail], new[head : len(new) - tail]
    yield old[len(old) - tail :], new[len(new) - tail :]


def _changed(old: Sequence[str], new: Sequence[str], deadline: float) -> Iterator[DifferenceRow]:
    """Yield the rows of a changed block; lines that answer each other are compared by words."""
    if len(old) != len(new):
        yield from (DifferenceRow("removed", ((line, False),)) for line in old)
        yield from (DifferenceRow("added", ((line, False),)) for line in new)
        return
    for before, after in zip(old, new, strict=True):
        was, now = _words(before, after, deadline)
        yield DifferenceRow("removed", was)
        yield DifferenceRow("added", now)


def _words(
    old: str, new: str, deadline: float
) -> tuple[tuple[TextPiece, ...], tuple[TextPiece, ...]]:
    a, b = _WORD.findall(old), _WORD.findall(new)
    if max(len(a), len(b)) > MAX_WORDS or time.monotonic() > deadline:
        return ((old, False),), ((new, False),)
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    was: list[TextPiece] = []
    now: list[TextPiece] = []
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        was.append(("".join(a[i1:i2]), tag != "equal"))
        now.append(("".join(b[j1:j2]), tag != "equal"))
    return tuple(piece for piece in was if piece[0]), tuple(piece for piece in now if piece[0])


def _folded(rows: Sequence[DifferenceRow]) -> Iterator[DifferenceRow]:
    """Yield the rows with long runs of the same lines folded, some lines of context left."""
    near = [False] * len(rows)
    for index, row in enumerate(rows):
        if row.kind != "same":
            low, high = max(0, index - CONTEXT), min(len(rows), index + CONTEXT + 1)
            near[low:high] = [True] * (high - low)
    skipped = 0
    for row, shown in zip(rows, near, strict=True):
        if not shown:
            skipped += 1
            continue
        if skipped:
            yield DifferenceRow("skipped", count=skipped)
            skipped = 0
        yield row
    if skipped:
        yield DifferenceRow("skipped", count=skipped)
