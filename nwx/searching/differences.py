"""The difference between two texts, in bounded time whatever the texts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rapidfuzz.distance import Indel

MAX_TEXT = 400_000
MAX_LINES = 5_000
LONG_LINE = 400
CONTEXT = 3

DifferenceKind = Literal["same", "removed", "added", "skipped"]
TextPiece = tuple[str, bool]
_SENTENCE = re.compile(r"(?<=[.!?。！？…])\s+|(?<=。)")
_WORD = re.compile(r"\s+|\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """A line of the difference: pieces of text and whether each has changed.

    A `skipped` row replaces `count` unchanged lines.
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
    rows: list[DifferenceRow] = []
    removed = added = 0
    for old_block, new_block in _blocks(old_lines, new_lines):
        if old_block == new_block:
            rows += [DifferenceRow("same", ((line, False),)) for line in old_block]
            continue
        removed += len(old_block)
        added += len(new_block)
        rows += _changed(old_block, new_block)
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


def _blocks(old: Sequence[str], new: Sequence[str]) -> Iterator[DifferenceBlock]:
    """Yield pairs of runs, equal or changed, that make up two sequences.

    Equal runs form the longest common subsequence.
    """
    at_old = at_new = 0
    for part in Indel.opcodes(old, new):
        if part.tag != "equal":
            continue
        if at_old < part.src_start or at_new < part.dest_start:
            yield old[at_old : part.src_start], new[at_new : part.dest_start]
        yield old[part.src_start : part.src_end], new[part.dest_start : part.dest_end]
        at_old, at_new = part.src_end, part.dest_end
    if at_old < len(old) or at_new < len(new):
        yield old[at_old:], new[at_new:]


def _changed(old: Sequence[str], new: Sequence[str]) -> Iterator[DifferenceRow]:
    """Yield the rows of a changed block; as many lines for as many are compared by words."""
    if len(old) != len(new):
        yield from (DifferenceRow("removed", ((line, False),)) for line in old)
        yield from (DifferenceRow("added", ((line, False),)) for line in new)
        return
    for before, after in zip(old, new, strict=True):
        was, now = _words(before, after)
        yield DifferenceRow("removed", was)
        yield DifferenceRow("added", now)


def _words(old: str, new: str) -> tuple[tuple[TextPiece, ...], tuple[TextPiece, ...]]:
    was: list[TextPiece] = []
    now: list[TextPiece] = []
    for before, after in _blocks(_WORD.findall(old), _WORD.findall(new)):
        changed = before != after
        was.append(("".join(before), changed))
        now.append(("".join(after), changed))
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
