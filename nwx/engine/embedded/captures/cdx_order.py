"""Captures as they come in: many at a time, in CDX order, each once, as UTF-8 can hold them."""

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

import numpy as np

from nwx.captures import VALUE_FIELDS, CaptureColumns, CaptureValues, joined_columns, values_of
from nwx.engine.embedded.captures.block_lookups import OFFSET_BITS
from nwx.engine.embedded.captures.blocks import (
    BLOCK_CAPTURES,
    STORED_FIELDS,
    WRITER_FIELDS,
    BlockColumns,
    block_texts,
)
from nwx.engine.embedded.captures.entries import KeyArray, LookupKeys, number_array
from nwx.engine.embedded.captures.runs import ordered, places_of
from nwx.engine.entries import clean_text
from nwx.model import Capture

SORTED_AT_ONCE = 100_000
"""So many captures are put in order together."""

_RECORD = itemgetter(2, 3, 4)
"""Takes out of a place what tells one record from all others: file, offset and collection."""

_FILE_FIELDS = VALUE_FIELDS[:2]
_TEXT_FIELDS = [name for name in STORED_FIELDS if name not in WRITER_FIELDS]


class CaptureChunk:
    """Captures in CDX order, with all that is made of them without the lock of an archive."""

    def __init__(self, columns: BlockColumns) -> None:
        self.columns = columns
        self.keys = LookupKeys(columns)
        self.texts = [
            block_texts(
                {name: columns[name][begin : begin + BLOCK_CAPTURES] for name in _TEXT_FIELDS}
            )
            for begin in range(0, len(columns["urlkey"]), BLOCK_CAPTURES)
        ]


class IncomingCaptures:
    """Captures in CDX order; of several of one record the first is kept.

    `numbers` tell which of the `files`, collections and names, each is of.
    """

    def __init__(self, columns: CaptureColumns) -> None:
        columns = {name: _clean(values) for name, values in columns.items()}
        collections, names = (columns[name] for name in _FILE_FIELDS)
        self.files = list(dict.fromkeys(zip(collections, names, strict=True)))
        self.numbers = self._numbers(collections, names)
        self.offsets = number_array(columns["source_file_offset"])
        order = self._order(columns)
        if order is not None:
            columns = ordered(columns, order)
            self.numbers, self.offsets = self.numbers[order], self.offsets[order]
        self.chunk = CaptureChunk(columns)

    def _numbers(self, collections: Sequence[str], names: Sequence[str]) -> KeyArray:
        if len({collection for collection, _ in self.files}) == 1:
            one = {name: number for number, (_, name) in enumerate(self.files)}
            return np.array(list(map(one.__getitem__, names)), np.uint64)
        many = {file: number for number, file in enumerate(self.files)}
        return np.array(
            list(map(many.__getitem__, zip(collections, names, strict=True))), np.uint64
        )

    def _order(self, columns: CaptureColumns) -> list[int] | None:
        """Return the order of the captures to keep, None where they are in it."""
        places = places_of(columns)
        numbers = range(len(places))
        first: Iterable[int] = numbers
        records = self.numbers << np.uint64(OFFSET_BITS) ^ self.offsets
        if not np.all(np.diff(np.sort(records))):
            pairs = zip(map(_RECORD, reversed(places)), reversed(numbers), strict=True)
            first = dict(pairs).values()
        order = sorted(first, key=places.__getitem__)
        return None if order == list(numbers) else order


def incoming_captures(batches: Iterable[Sequence[Capture]]) -> Iterator[IncomingCaptures]:
    """Yield captures, many at a time."""
    parts: list[CaptureValues] = []
    size = 0
    for batch in batches:
        if batch:
            parts.append(
                batch if isinstance(batch, CaptureValues) else CaptureValues(values_of(batch))
            )
            size += len(batch)
        if size >= SORTED_AT_ONCE:
            yield _taken(parts)
            size = 0
    if parts:
        yield _taken(parts)


def _taken(parts: list[CaptureValues]) -> IncomingCaptures:
    """Return captures in order, and keep none of them: they are much of the memory."""
    columns = joined_columns(parts)
    parts.clear()
    return IncomingCaptures(columns)


def _clean(values: Sequence[object]) -> Sequence[object]:
    """Return values, their texts as UTF-8 can hold them."""
    try:
        "".join(values).encode()  # type: ignore[arg-type]
    except TypeError:
        return values  # numbers
    except UnicodeEncodeError:
        return [clean_text(str(value)) for value in values]
    return values
