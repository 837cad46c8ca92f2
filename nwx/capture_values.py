"""Captures of which only the values are there, for those who store them as such."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from nwx.keys import document_id, document_key
from nwx.model import Capture

_DERIVED = "document_id"
VALUE_FIELDS = tuple(name for name in Capture._fields if name != _DERIVED)
"""The fields of a capture that its values are of, in order: the id of its document follows."""

DEFAULT_VALUES: Mapping[str, str] = {
    name: default for name, default in Capture._field_defaults.items() if isinstance(default, str)
}
"""What the last fields are where nothing is said of them."""

CaptureTuple = tuple[Any, ...]
"""The values of a capture; those at the end that are as by default may be left out."""

_PLACE = Capture._fields.index(_DERIVED)
_URL, _DIGEST = VALUE_FIELDS.index("url"), VALUE_FIELDS.index("digest")


class CaptureValues(Sequence[Capture]):
    """Captures by their values, in the order of VALUE_FIELDS; each is made when it is asked for."""

    __slots__ = ("rows",)

    def __init__(self, rows: Sequence[CaptureTuple]) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> Capture: ...

    @overload
    def __getitem__(self, place: slice) -> "CaptureValues": ...

    def __getitem__(self, place: int | slice) -> "Capture | CaptureValues":
        if isinstance(place, slice):
            return CaptureValues(self.rows[place])
        return capture_of_values(self.rows[place])


def capture_of_values(row: CaptureTuple) -> Capture:
    """Return the capture of values in the order of VALUE_FIELDS."""
    url, digest = row[_URL], row[_DIGEST]
    document = document_id(document_key(url, digest)) if digest else ""
    values: CaptureTuple = (*row[:_PLACE], document, *row[_PLACE:])
    return Capture(*values)


def values_of(captures: Iterable[Capture]) -> Sequence[CaptureTuple]:
    """Return the values of captures."""
    if isinstance(captures, CaptureValues):
        return captures.rows
    return [capture[:_PLACE] + capture[_PLACE + 1 :] for capture in captures]
