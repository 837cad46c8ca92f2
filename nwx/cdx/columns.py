"""The columns of a block of clean lines, read for all lines at once."""

from itertools import islice, repeat

import numpy as np
from numpy.typing import NDArray

from nwx.captures import names_capture
from nwx.cdx.blocks import LineBlock
from nwx.cdx.layouts import without_file_is_revisit
from nwx.cdx.lines import REVISIT, checked_timestamp
from nwx.cdx.problems import FileReading
from nwx.cdx.timestamp_digits import timestamps_of
from nwx.errors import CdxError, TimestampError
from nwx.values.timestamps import normal_timestamp

Bytes = NDArray[np.uint8]
Mask = NDArray[np.bool_]
Integers = NDArray[np.int64]

_DIGITS = 14
_HTTP, _WARC, _ARC = np.frombuffer(b"httpwarcarc/", "<u4")
_MAX_NUMBER_DIGITS = 18


def load_columns(data: bytes, positions: Integers, width: int) -> Bytes:
    """Return `width` bytes from each of these positions of `data`, a row each."""
    view = np.ndarray((len(data) - width + 1,), f"V{width}", buffer=data, strides=(1,))
    return view[positions].view(np.uint8).reshape(-1, width)


class CdxColumns:
    """A block by column; `timestamp` has its timestamps as numbers of 14 digits.

    Lines with a broken timestamp are noted as problems and left out.
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
        """Where the lines stand in their block."""
        return np.arange(len(self._begins)) if self._rows is None else self._rows

    def keep(self, rows: Mask) -> None:
        """Leave out all lines but these."""
        if not rows.all():
            kept = np.flatnonzero(rows)
            self._rows = kept if self._rows is None else self._rows[kept]
            self.timestamp = self.timestamp[kept]

    def has(self, letters: str) -> bool:
        """Return whether the lines have one of these fields."""
        return self._layout.place(letters) >= 0

    def starts(self, letters: str) -> Integers:
        """Return where a field begins in each line."""
        place = self._layout.place(letters)
        return self._of_rows(self._ends[place - 1]) + 1 if place else self._of_rows(self._begins)

    def lengths(self, letters: str) -> Integers:
        """Return how many bytes a field has in each line."""
        return self._of_rows(self._ends[self._layout.place(letters)]) - self.starts(letters)

    def _of_rows(self, values: Integers) -> Integers:
        return values if self._rows is None else values[self._rows]

    def texts(self, letters: str, rows: Mask | Integers | None = None) -> list[bytes]:
        """Return a field of each line, or of these lines."""
        starts, ends = self.starts(letters), self._of_rows(self._ends[self._layout.place(letters)])
        if rows is not None:
            starts, ends = starts[rows], ends[rows]
        data = self.data
        return [data[a:b] for a, b in zip(starts.tolist(), ends.tolist(), strict=True)]

    def is_missing(self, letters: str) -> Mask:
        """Return which lines have `-` in a field, or no such field."""
        if not self.has(letters):
            return np.ones(len(self), np.bool_)
        missing: Mask = self.lengths(letters) == 1
        if missing.any():
            missing &= load_columns(self.data, self.starts(letters), 1)[:, 0] == ord("-")
        return missing

    def is_revisit(self) -> Mask:
        """Return which lines stand for revisit records (`nwx.cdx.lines.is_revisit`)."""
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
        """Return which lines stand for captures (`nwx.captures.names_capture`)."""
        doubtful = self._doubtful()
        found = np.ones(len(self), np.bool_)
        if doubtful.any():
            found[doubtful] = self._named_one_by_one(doubtful)
        return found

    def _doubtful(self) -> Mask:
        """Return which lines may be of no capture, by how their MIME types and URLs begin."""
        doubtful: Mask = load_columns(self.data, self.starts("a"), 4).view("<u4")[:, 0] != _HTTP
        if not self.has("m"):
            return doubtful
        types = load_columns(self.data, self.starts("m"), len("application/warc")).view("<u4")
        first, last = types[:, 0], types[:, -1]
        typed: Mask = (first == _WARC) | (last == _WARC) | (first == _ARC)
        return doubtful | (typed & ~self._typed_revisit()) if typed.any() else doubtful

    def _named_one_by_one(self, rows: Mask) -> list[bool]:
        texts = []
        for letters in "msa":
            values = self.texts(letters, rows) if self.has(letters) else repeat(b"")
            texts.append([value.decode("latin-1") for value in islice(values, int(rows.sum()))])
        return [names_capture(*fields) for fields in zip(*texts, strict=True)]

    def sizes(self) -> Integers:
        """Return the record lengths in bytes, -1 where not known."""
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
