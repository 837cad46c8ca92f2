"""Columns of a block of clean CDX lines, as arrays."""

from itertools import islice, repeat

import numpy as np
from numpy.typing import NDArray

from nwx.captures import names_capture
from nwx.cdx.blocks import LineBlock
from nwx.cdx.inputs import FileReading
from nwx.cdx.layouts import without_file_is_revisit
from nwx.cdx.rows import REVISIT, checked_timestamp
from nwx.errors import CdxError, TimestampError
from nwx.values.timestamps import normal_timestamp

_DATE = 1_000_000  # timestamps are date * _DATE + time
_HIGH_NIBBLES = np.uint64(0xF0F0F0F0F0F0F0F0)
_ZEROS = np.uint64(0x3030303030303030)
_SIXES = np.uint64(0x0606060606060606)
_SIX_BYTES = np.uint64(0x0000FFFFFFFFFFFF)
_TWO_ZEROS = np.uint64(0x3030000000000000)
_STEPS = tuple(
    (np.uint64(factor), np.uint64(shift), np.uint64(mask))
    for factor, shift, mask in (
        (10, 8, 0x00FF00FF00FF00FF),
        (100, 16, 0x0000FFFF0000FFFF),
        (10_000, 32, 0x00000000FFFFFFFF),
    )
)
_DAYS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_LEAP_DAY = 229


def _days_of_a_year() -> NDArray[np.bool_]:
    found = np.zeros(10_000, np.bool_)
    for month, days in enumerate(_DAYS, 1):
        found[month * 100 + 1 : month * 100 + days + 1] = True
    return found


_DAY_EXISTS = _days_of_a_year()


def timestamps_of(digits: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Parse the first 14 of 16 bytes a row; return the numbers, and which are valid times."""
    words = digits.view("<u8")
    date_word, time_word = words[:, 0], (words[:, 1] & _SIX_BYTES) | _TWO_ZEROS
    good = _are_digits(date_word) & _are_digits(time_word)
    date, time = _value(date_word), _value(time_word) // 100
    year = date // 10_000
    day = np.where(good, date - year * 10_000, 0)
    good &= _DAY_EXISTS[day] & (year > 0)
    hour, minute = time // 10_000, time // 100
    good &= (hour < 24) & (minute - hour * 100 < 60) & (time - minute * 100 < 60)
    leap = day == _LEAP_DAY
    if leap.any():
        good &= ~leap | ((year % 4 == 0) & ((year % 100 != 0) | (year % 400 == 0)))
    return date * _DATE + time, good


def _are_digits(words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    low: NDArray[np.bool_] = words & _HIGH_NIBBLES == _ZEROS
    low &= words + _SIXES & _HIGH_NIBBLES == _ZEROS
    return low


def _value(words: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the numbers in words of eight digits, with the first digit in the lowest byte."""
    values = words - _ZEROS
    for factor, shift, mask in _STEPS:
        values = values * factor + (values >> shift) & mask
    return values.view(np.int64)


Bytes = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Integers = NDArray[np.int64]

_DIGITS = 14
_HTTP, _WARC, _ARC, _ANVL = np.frombuffer(b"httpwarcarc//anv", "<u4")
_MAX_NUMBER_DIGITS = 18


def load_columns(data: bytes, positions: Integers, width: int) -> Bytes:
    """Return `width` bytes of `data` from each position, one row each."""
    view = np.ndarray((len(data) - width + 1,), f"V{width}", buffer=data, strides=(1,))
    return view[positions].view(np.uint8).reshape(-1, width)


class CdxColumns:
    """The columns of a block; `timestamp` has 14-digit timestamps as numbers.

    Lines with a broken timestamp are recorded as problems and left out.
    """

    def __init__(self, block: LineBlock, reading: FileReading) -> None:
        self.data = block.data
        self._layout = block.layout
        self._ends = np.ascontiguousarray(block.ends.T)
        self._rows: Integers | None = None
        self._begins = np.empty(len(block.ends), np.int64)
        self._begins[0] = 0
        self._begins[1:] = block.ends[:-1, -1] + 1
        self.timestamp = self._timestamps(block, reading)

    def __len__(self) -> int:
        return len(self.timestamp)

    @property
    def places(self) -> Integers:
        """The positions of the lines in their block."""
        return np.arange(len(self._begins)) if self._rows is None else self._rows

    def keep(self, rows: Mask) -> None:
        """Drop all lines but those of the mask."""
        if not rows.all():
            kept = np.flatnonzero(rows)
            self._rows = kept if self._rows is None else self._rows[kept]
            self.timestamp = self.timestamp[kept]

    def has(self, letters: str) -> bool:
        """Return whether the lines have a field with one of these letters."""
        return self._layout.place(letters) >= 0

    def starts(self, letters: str) -> Integers:
        """Return the start of a field in each line, as a position in `data`."""
        place = self._layout.place(letters)
        return self._of_rows(self._ends[place - 1]) + 1 if place else self._of_rows(self._begins)

    def lengths(self, letters: str) -> Integers:
        """Return the length of a field in each line, in bytes."""
        return self._of_rows(self._ends[self._layout.place(letters)]) - self.starts(letters)

    def _of_rows(self, values: Integers) -> Integers:
        return values if self._rows is None else values[self._rows]

    def texts(self, letters: str, rows: Mask | Integers | None = None) -> list[bytes]:
        """Return a field of each line, or of the lines in `rows`."""
        starts, ends = self.starts(letters), self._of_rows(self._ends[self._layout.place(letters)])
        if rows is not None:
            starts, ends = starts[rows], ends[rows]
        data = self.data
        return [data[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]

    def is_missing(self, letters: str) -> Mask:
        """Return a mask of the lines with `-` in a field; all if they do not have the field."""
        if not self.has(letters):
            return np.ones(len(self), np.bool_)
        missing: Mask = self.lengths(letters) == 1
        if missing.any():
            missing &= load_columns(self.data, self.starts(letters), 1)[:, 0] == ord("-")
        return missing

    def is_revisit(self) -> Mask:
        """Return a mask of the revisit records (`nwx.cdx.rows.is_revisit_row`)."""
        found = self._typed_revisit() if self.has("m") else np.zeros(len(self), np.bool_)
        if without_file_is_revisit(self._layout):
            found |= self.is_missing("g")
        return found

    def _typed_revisit(self) -> Mask:
        start = load_columns(self.data, self.starts("m"), len(REVISIT))
        found: Mask = (start == np.frombuffer(REVISIT.encode(), np.uint8)).all(axis=1)
        found &= self.lengths("m") == len(REVISIT)
        return found

    def names_captures(self) -> Mask:
        """Return a mask of the captures (`nwx.captures.names_capture`)."""
        doubtful = self._doubtful()
        found = np.ones(len(self), np.bool_)
        if doubtful.any():
            found[doubtful] = self._named_one_by_one(doubtful)
        return found

    def _doubtful(self) -> Mask:
        """Return a mask of the lines that may not be captures, by MIME type and start of URL."""
        doubtful: Mask = load_columns(self.data, self.starts("a"), 4).view("<u4")[:, 0] != _HTTP
        if not self.has("m"):
            return doubtful
        types = load_columns(self.data, self.starts("m"), len("application/warc")).view("<u4")
        first, last = types[:, 0], types[:, -1]
        typed: Mask = (first == _WARC) | (last == _WARC) | (first == _ARC) | (types[:, 1] == _ANVL)
        return doubtful | (typed & ~self._typed_revisit()) if typed.any() else doubtful

    def _named_one_by_one(self, rows: Mask) -> list[bool]:
        texts = []
        for letters in "msa":
            values = self.texts(letters, rows) if self.has(letters) else repeat(b"")
            texts.append([value.decode("latin-1") for value in islice(values, int(rows.sum()))])
        return [names_capture(*fields) for fields in zip(*texts, strict=True)]

    def sizes(self) -> Integers:
        """Return the record lengths in bytes, -1 if unknown."""
        if not self.has("S"):
            return np.full(len(self), -1, np.int64)
        return np.array([_number(text) for text in self.texts("S")], np.int64)

    def _timestamps(self, block: LineBlock, reading: FileReading) -> Integers:
        values, good = timestamps_of(load_columns(self.data, self.starts("b"), 16))
        good &= self.lengths("b") == _DIGITS
        self.timestamp = values
        if not good.all():
            for row in np.flatnonzero(~good).tolist():
                values[row] = self._by_itself(row, block.lines[row], reading)
            self.keep(values > 0)
        return self.timestamp

    def _by_itself(self, row: int, line: int, reading: FileReading) -> int:
        (text,) = self.texts("b", np.array([row]))
        try:
            shown = text.decode("utf-8", "surrogateescape")
            return int(normal_timestamp(checked_timestamp(shown)))
        except (CdxError, TimestampError) as error:
            reading.add(CdxError(str(error), reading.file, line))
            return -1


def _number(text: bytes) -> int:
    return int(text) if text.isdigit() and len(text) <= _MAX_NUMBER_DIGITS else -1
