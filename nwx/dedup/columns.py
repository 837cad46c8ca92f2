"""The columns of a block of clean lines, read for all lines at once."""

import numpy as np
from numpy.typing import NDArray

from nwx.dedup.blocks import Block, Reading
from nwx.errors import CdxError, TimestampError
from nwx.formats.cdx import REVISIT, checked_timestamp, without_file_is_revisit
from nwx.formats.timestamp import normal_timestamp

Bytes = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]

_DIGITS = 14
_WEIGHTS = np.array([1e12, 1e10, 1e8, 1e6, 1e4, 1e2, 1.0])
_DAYS = np.array([0, 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31], np.uint8)
_HIGHEST = np.array([99, 99, 12, 31, 23, 59, 59], np.uint8)
_MAX_NUMBER_DIGITS = 18


def load(data: bytes, positions: Numbers, width: int) -> Bytes:
    """Return `width` bytes from each of these positions of `data`, a row each."""
    view = np.ndarray((len(data) - width + 1,), f"V{width}", buffer=data, strides=(1,))
    return view[positions].view(np.uint8).reshape(-1, width)


class Columns:
    """A block by column; `timestamp` has its timestamps as numbers of 14 digits.

    Lines with a broken timestamp are noted as problems and left out.
    """

    def __init__(self, block: Block, reading: Reading) -> None:
        self.data = block.data
        self._layout = block.layout
        self._ends = block.ends
        self._starts = np.empty_like(block.ends)
        self._starts[:, 1:] = block.ends[:, :-1] + 1
        self._starts[1:, 0] = block.ends[:-1, -1] + 1
        self._starts[0, 0] = 0
        self.timestamp = self._timestamps(block, reading)

    def __len__(self) -> int:
        return len(self._ends)

    def keep(self, rows: Mask) -> None:
        """Leave out all lines but these."""
        if not rows.all():
            self._ends = self._ends[rows]
            self._starts = self._starts[rows]
            self.timestamp = self.timestamp[rows]

    def has(self, letters: str) -> bool:
        """Return whether the lines have one of these fields."""
        return self._layout.place(letters) >= 0

    def starts(self, letters: str) -> Numbers:
        """Return where a field begins in each line."""
        return self._starts[:, self._layout.place(letters)]

    def lengths(self, letters: str) -> Numbers:
        """Return how many bytes a field has in each line."""
        place = self._layout.place(letters)
        return self._ends[:, place] - self._starts[:, place]

    def texts(self, letters: str, rows: Mask | Numbers | None = None) -> list[bytes]:
        """Return a field of each line, or of these lines."""
        place = self._layout.place(letters)
        starts, ends = self._starts[:, place], self._ends[:, place]
        if rows is not None:
            starts, ends = starts[rows], ends[rows]
        data = self.data
        return [data[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]

    def is_missing(self, letters: str) -> Mask:
        """Return which lines have `-` in a field, or no such field."""
        if not self.has(letters):
            return np.ones(len(self), np.bool_)
        first = load(self.data, self.starts(letters), 1)[:, 0]
        missing: Mask = (self.lengths(letters) == 1) & (first == ord("-"))
        return missing

    def is_revisit(self) -> Mask:
        """Return which lines stand for revisit records (`nwx.formats.cdx.is_revisit`)."""
        found = np.zeros(len(self), np.bool_)
        if self.has("m"):
            start = load(self.data, self.starts("m"), len(REVISIT))
            found = (start == np.frombuffer(REVISIT.encode(), np.uint8)).all(axis=1)
            found &= self.lengths("m") == len(REVISIT)
        if without_file_is_revisit(self._layout):
            found |= self.is_missing("g")
        return found

    def sizes(self) -> Numbers:
        """Return the record lengths in bytes, -1 where not known."""
        if not self.has("S"):
            return np.full(len(self), -1, np.int64)
        return np.array([_number(text) for text in self.texts("S")], np.int64)

    def _timestamps(self, block: Block, reading: Reading) -> Numbers:
        values, good = _numbers_of(load(self.data, self.starts("b"), 16))
        good &= self.lengths("b") == _DIGITS
        self.timestamp = values
        if not good.all():
            for row in np.flatnonzero(~good).tolist():
                values[row] = self._by_itself(row, block.lines[row], reading)
            self.keep(values > 0)
        return self.timestamp

    def _by_itself(self, row: int, line: int, reading: Reading) -> int:
        (text,) = self.texts("b", np.array([row]))
        try:
            shown = text.decode("utf-8", "surrogateescape")
            return int(normal_timestamp(checked_timestamp(shown)))
        except (CdxError, TimestampError) as error:
            reading.add(CdxError(str(error), reading.file, line))
            return -1


def _numbers_of(digits: Bytes) -> tuple[Numbers, Mask]:
    """Return numbers of 14 digits, and which of them are instants."""
    figures = digits[:, :_DIGITS] - np.uint8(ord("0"))
    pairs = figures[:, ::2] * np.uint8(10) + figures[:, 1::2]
    good = (figures < 10).all(axis=1) & (pairs <= _HIGHEST).all(axis=1)
    month, day = np.where(good, pairs[:, 2], 0), pairs[:, 3]
    good &= (month > 0) & (day > 0) & (day <= _DAYS[month])
    values = (pairs @ _WEIGHTS).astype(np.int64)
    good &= values >= 10**10  # there is no year 0
    leap = good & (month == 2) & (day == 29)
    if leap.any():
        year = values // 10**10
        good &= ~leap | ((year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0)))
    return values, good


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) <= _MAX_NUMBER_DIGITS else -1
