"""Incoming captures prepared for storing: sorted in CDX order, without duplicates, valid UTF-8."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from nwx.captures import VALUE_FIELDS, CaptureColumns, CaptureValues, joined_columns, values_of
from nwx.engine.embedded.captures.block_lookups import MONTH
from nwx.engine.embedded.captures.blocks import (
    BLOCK_CAPTURES,
    STORED_FIELDS,
    WRITER_FIELDS,
    BlockColumns,
    block_texts,
)
from nwx.engine.embedded.captures.entries import KeyArray, LookupKeys, number_array
from nwx.engine.embedded.captures.runs import is_one_value, ordered
from nwx.engine.entries import clean_text
from nwx.model import Capture

SORTED_AT_ONCE = 100_000
"""The number of captures sorted together."""

_FILE_FIELDS = VALUE_FIELDS[:2]
_TEXT_FIELDS = [name for name in STORED_FIELDS if name not in WRITER_FIELDS]


class CaptureChunk:
    """Captures in CDX order, with all that can be computed without the lock of an archive."""

    def __init__(self, columns: BlockColumns) -> None:
        self.columns = columns
        self.keys = LookupKeys(columns)
        self.months = Counter([time[:MONTH] for time in columns["timestamp"]])
        same = {name: columns[name][:1] for name in _TEXT_FIELDS if is_one_value(columns[name])}
        differ = [name for name in _TEXT_FIELDS if name not in same]
        number = len(columns["urlkey"])
        self.texts = [
            block_texts({name: columns[name][begin:end] for name in differ} | same, end - begin)
            for begin in range(0, number, BLOCK_CAPTURES)
            for end in [min(begin + BLOCK_CAPTURES, number)]
        ]


class IncomingCaptures:
    """Captures in CDX order; of several captures of one record the first is kept.

    `numbers` are the positions of their files in `files`, pairs of collection and name.
    """

    def __init__(self, columns: CaptureColumns) -> None:
        columns = {name: _clean(values) for name, values in columns.items()}
        collections, names = (columns[name] for name in _FILE_FIELDS)
        self.files = list(dict.fromkeys(zip(collections, names, strict=True)))
        places = {file: number for number, file in enumerate(self.files)}
        pairs = zip(collections, names, strict=True)
        self.numbers = np.array(list(map(places.__getitem__, pairs)), np.uint64)
        self.offsets = number_array(columns["source_file_offset"])
        order = self._order(columns["urlkey"], columns["timestamp"])
        if order is not None:
            columns = ordered(columns, order)
            self.numbers, self.offsets = self.numbers[order], self.offsets[order]
        self.chunk = CaptureChunk(columns)

    def _order(self, urlkeys: Sequence[str], timestamps: Sequence[str]) -> list[int] | None:
        """Return the order (CdxPlace) of the captures to keep, None if it is the present one."""
        collections, names = (
            _ranks(values)[self.numbers] for values in zip(*self.files, strict=True)
        )
        keys = (collections, self.offsets, names)
        found = np.lexsort(keys)
        is_new = np.ones(len(found), bool)
        is_new[1:] = np.any([np.diff(key[found]) for key in keys], axis=0)
        order: list[int] = found[is_new].tolist()
        # Stable sorts, from the last key to the first.
        order.sort(key=timestamps.__getitem__)
        order.sort(key=urlkeys.__getitem__)
        return None if order == list(range(len(urlkeys))) else order


def _ranks(values: Sequence[str]) -> KeyArray:
    ranks = {value: rank for rank, value in enumerate(sorted(set(values)))}
    return np.array([ranks[value] for value in values], np.uint64)


def incoming_captures(batches: Iterable[Sequence[Capture]]) -> Iterator[IncomingCaptures]:
    """Yield captures, about SORTED_AT_ONCE at a time."""
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
    """Return captures in order and empty `parts`, as they take much memory."""
    columns = joined_columns(parts)
    parts.clear()
    return IncomingCaptures(columns)


def _clean(values: Sequence[object]) -> Sequence[object]:
    """Return values, with texts that UTF-8 cannot encode cleaned."""
    try:
        "".join(values).encode()  # type: ignore[arg-type]
    except TypeError:
        return values  # numbers
    except UnicodeEncodeError:
        return [clean_text(str(value)) for value in values]
    return values
