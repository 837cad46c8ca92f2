"""Differences between two texts, in bounded time, and without a host's recurring noise."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

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
    """A line of a difference: pieces of text, each with whether it changed.

    A `skipped` row replaces `count` unchanged lines.
    """

    kind: DifferenceKind
    pieces: tuple[TextPiece, ...] = ()
    count: int = 1


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows, the numbers of removed and added lines, and whether long texts were cut."""

    rows: tuple[DifferenceRow, ...]
    removed: int
    added: int
    cut: bool


def difference(old: str, new: str) -> Difference:
    """Return the differences between two texts by line and, within changed lines, by word."""
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
    """Return the lines of a text, long ones split at sentences, and whether any were left out."""
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
    """Yield pairs of equal or changed runs that together make up two sequences.

    The equal runs form the longest common subsequence.
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
    """Yield the rows of a changed block; equal numbers of lines are compared by words."""
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
    """Yield rows with runs of unchanged lines folded, except for CONTEXT lines of context."""
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


_MOST_TEXT = 200_000
_MOST_LINES = 2_000
_LEAST_PAIRS = 4
"""The least pairs of versions to learn a host's noise; with fewer, changed numbers never count."""

_LEAST_SEEN, _LEAST_SHARE = 3, 0.6
_ALIKE = 0.5
_COMPARED_WORD = re.compile(r"\w+(?:[-:./]\w+)*")
_DIGITS = re.compile(r"\d+")
_STAMP = re.compile(
    r"\d{1,2}:\d\d(:\d\d)?|(19|20)\d\d[-./]\d\d?[-./]\d\d?|\d\d?[-./]\d\d?[-./](19|20)?\d\d"
    r"|(?=\w*\d)(?=\w*[a-z])\w{12,}|\d{10,}"
)
"""Times, dates and program-generated text: session ids, tokens, timestamps."""

_DATE_WORDS = frozenset(
    "january february march april may june july august september october november december "
    "jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday "
    "saturday sunday mon tue wed thu fri sat sun am pm januar februar märz mai juni juli oktober "
    "dezember montag dienstag mittwoch donnerstag freitag samstag sonntag janvier février mars "
    "avril juin juillet août septembre octobre novembre décembre lundi mardi mercredi jeudi "
    "vendredi samedi dimanche enero febrero marzo abril mayo junio julio agosto septiembre octubre "
    "noviembre diciembre lunes martes miércoles jueves viernes sábado domingo".split()
)

NoiseKey = tuple[str, str, str]
"""The place of a change: its kind (words, line or lines), the text before it, the text after it."""


class TextChange(NamedTuple):
    """Words replaced by other words; `is_number` if all are numbers or dates."""

    key: NoiseKey
    old: tuple[str, ...]
    new: tuple[str, ...]
    is_number: bool

    @property
    def size(self) -> int:
        """The number of removed and added words."""
        return len(self.old) + len(self.new)


def text_changes(old: str, new: str) -> list[TextChange]:
    """Return the changes from one text to another, except those of times, dates and tokens."""
    if old == new:
        return []
    was, now = _word_lines(old), _word_lines(new)
    found = list[TextChange]()
    for before, after, left, right in _changed_blocks(was, now):
        if len(before) == len(after):
            for one, other in zip(before, after, strict=True):
                found += _line_changes(one, other, left, right)
        else:
            found.append(_change("lines", left, right, _all(before), _all(after)))
    return [one for one in found if not _is_stamp(one)]


_Line = tuple[str, ...]
_EDGE: _Line = ("",)


def _word_lines(text: str) -> list[_Line]:
    lines = text[:_MOST_TEXT].lower().splitlines()[:_MOST_LINES]
    return [words for line in lines if (words := tuple(_COMPARED_WORD.findall(line)))]


def _changed_blocks(
    old: Sequence[_Line], new: Sequence[_Line]
) -> Iterator[tuple[Sequence[_Line], Sequence[_Line], _Line, _Line]]:
    """Yield the changed runs of two sequences, each with the equal items before and after it."""
    at_old = at_new = 0
    left = _EDGE
    for part in Indel.opcodes(old, new):
        if part.tag != "equal":
            continue
        if at_old < part.src_start or at_new < part.dest_start:
            right = old[part.src_start]
            yield old[at_old : part.src_start], new[at_new : part.dest_start], left, right
        left, at_old, at_new = old[part.src_end - 1], part.src_end, part.dest_end
    if at_old < len(old) or at_new < len(new):
        yield old[at_old:], new[at_new:], left, _EDGE


def _line_changes(old: _Line, new: _Line, left: _Line, right: _Line) -> Iterator[TextChange]:
    """Yield the changes in a line, or the whole line if little of it is unchanged."""
    if old == new:
        return
    if Indel.normalized_similarity(old, new) < _ALIKE:
        head, tail = _common(old, new), _common(old[::-1], new[::-1])[::-1]
        if head or tail:  # they identify the place better than nearby lines, which may change too
            left, right = head or _EDGE, tail or _EDGE
        yield _change("line", left, right, old, new)
        return
    words = [(word,) for word in old], [(word,) for word in new]
    for before, after, one, other in _changed_blocks(*words):
        yield _change("words", one, other, _all(before), _all(after))


def _common(old: _Line, new: _Line) -> _Line:
    pairs = zip(old, new, strict=False)
    return old[: next((at for at, (one, other) in enumerate(pairs) if one != other), None)]


def _change(kind: str, left: _Line, right: _Line, old: _Line, new: _Line) -> TextChange:
    key = kind, _masked(left), _masked(right)
    return TextChange(key, old, new, all(map(_is_number, (*old, *new))))


def _all(lines: Iterable[_Line]) -> _Line:
    return tuple(word for line in lines for word in line)


def _masked(line: _Line) -> str:
    words = ("0" if word in _DATE_WORDS else word for word in line)
    return _DIGITS.sub("0", " ".join(words))[:200]


def _is_stamp(change: TextChange) -> bool:
    """Return whether only times or tokens changed, or a number next to a date word or number."""
    if change.is_number and change.key[0] == "words" and "0" in change.key[1:]:
        return True
    return all(map(_STAMP.fullmatch, (*change.old, *change.new)))


def _is_number(word: str) -> bool:
    return word in _DATE_WORDS or any(map(str.isdigit, word))


@dataclass(slots=True)
class _Seen:
    pairs: int = 0
    urls: set[str] = field(default_factory=set)
    values: set[tuple[_Line, _Line]] = field(default_factory=set)
    only_numbers: bool = True


class HostNoise:
    """Places that change in nearly every pair of versions of a host's pages.

    A place is noise if it changed in at least 3 pairs and 60 % of the pairs of the pages that have
    it, with at least 3 different changes unless only numbers changed. A menu renamed once on all
    pages is not noise: the change is the same everywhere.
    """

    def __init__(self) -> None:
        self._pairs_of: defaultdict[str, int] = defaultdict(int)
        self._seen: defaultdict[NoiseKey, _Seen] = defaultdict(_Seen)
        self._rules: frozenset[NoiseKey] | None = None

    def learn(self, url: str, changes: Iterable[TextChange]) -> None:
        """Learn from the changes between two successive versions of a page."""
        self._pairs_of[url] += 1
        self._rules = None
        for key, some in _by_key(changes).items():
            seen = self._seen[key]
            seen.pairs += 1
            seen.urls.add(url)
            seen.values.update((one.old, one.new) for one in some)
            seen.only_numbers &= all(one.is_number for one in some)

    @property
    def rules(self) -> frozenset[NoiseKey]:
        """The keys of the places that are noise."""
        if self._rules is None:
            self._rules = frozenset(key for key, seen in self._seen.items() if self._is_noise(seen))
        return self._rules

    def without(self, changes: Iterable[TextChange]) -> list[TextChange]:
        """Return the changes that are not noise."""
        has_learned = sum(self._pairs_of.values()) >= _LEAST_PAIRS
        rules = self.rules if has_learned else frozenset()
        return [
            one for one in changes if one.key not in rules and (has_learned or not one.is_number)
        ]

    def _is_noise(self, seen: _Seen) -> bool:
        possible = sum(self._pairs_of[url] for url in seen.urls)
        is_frequent = seen.pairs >= _LEAST_SEEN and seen.pairs >= _LEAST_SHARE * possible
        return is_frequent and (seen.only_numbers or len(seen.values) >= _LEAST_SEEN)


def _by_key(changes: Iterable[TextChange]) -> dict[NoiseKey, list[TextChange]]:
    found = defaultdict[NoiseKey, list[TextChange]](list)
    for one in changes:
        found[one.key].append(one)
    return found


def changed_share(changes: Iterable[TextChange], old: str, new: str) -> float:
    """Return the share of changed words in two texts, from 0 to 1."""
    size = sum(one.size for one in changes)
    words = len(_COMPARED_WORD.findall(old[:_MOST_TEXT])) + len(
        _COMPARED_WORD.findall(new[:_MOST_TEXT])
    )
    return min(1.0, size / words) if words else 0.0
