"""Captures as they come in: many at a time, in CDX order, each once, as UTF-8 can hold them."""

from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter

from nwx.captures import CaptureColumns, CaptureValues, joined_columns, values_of
from nwx.engine.embedded.captures.runs import ordered, places_of
from nwx.engine.entries import clean_text
from nwx.model import Capture

SORTED_AT_ONCE = 100_000
"""So many captures are put in order together."""

_RECORD = itemgetter(2, 3, 4)
"""Takes out of a place what tells one record from all others: file, offset and collection."""


def incoming_columns(batches: Iterable[Sequence[Capture]]) -> Iterator[CaptureColumns]:
    """Yield the values of captures by field, many at a time, in the order of `ordered_columns`."""
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


def _taken(parts: list[CaptureValues]) -> CaptureColumns:
    """Return captures in order, and keep none of them: they are much of the memory."""
    columns = joined_columns(parts)
    parts.clear()
    return ordered_columns(columns)


def ordered_columns(columns: CaptureColumns) -> CaptureColumns:
    """Return captures in CDX order; of several of one record the first is kept."""
    columns = {name: _clean(values) for name, values in columns.items()}
    places = places_of(columns)
    numbers = range(len(places))
    first: Iterable[int] = numbers
    if len(set(map(_RECORD, places))) < len(places):
        first = dict(zip(map(_RECORD, reversed(places)), reversed(numbers), strict=True)).values()
    order = sorted(first, key=places.__getitem__)
    return columns if order == list(numbers) else ordered(columns, order)


def _clean(values: Sequence[object]) -> Sequence[object]:
    """Return values, their texts as UTF-8 can hold them."""
    try:
        "".join(values).encode()  # type: ignore[arg-type]
    except TypeError:
        return values  # numbers
    except UnicodeEncodeError:
        return [clean_text(str(value)) for value in values]
    return values
