"""Records (dataclasses, named tuples) made from others and from entries, and as JSON."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, fields
from json import dumps
from typing import Any, TypeVar

_Record = TypeVar("_Record")
_NAMES: dict[Any, tuple[str, ...]] = {}
"""The names of the fields of each kind of record: looking them up takes longer than copying."""


def copied(kind: type[_Record], *sources: object, **values: Any) -> _Record:
    """Return a record with the given values, and all others from attributes of the same name.

    The first source that has the attribute counts. Fields that no source has keep their defaults.
    """
    found = {
        name: getattr(source, name)
        for name in _field_names(kind)
        if name not in values
        for source in sources[::-1]
        if hasattr(source, name)
    }
    return kind(**found, **values)


def from_mapping(kind: type[_Record], entry: Mapping[str, Any], **values: Any) -> _Record:
    """Return a record with the given values, and all others from a mapping; unknown names stay."""
    found = {name: entry[name] for name in _field_names(kind) if name in entry}
    return kind(**found | values)


def add_counts(total: object, other: object) -> None:
    """Add each field of a dataclass of counts, numbers or Counters, to that of another."""
    for name in _field_names(type(other)):
        setattr(total, name, getattr(total, name) + getattr(other, name))


def json_array(records: Iterable[Any]) -> Iterator[str]:
    """Stream dataclasses as a JSON array, an object a line."""
    opening = "["
    for record in records:
        yield f"{opening}\n{dumps(asdict(record), ensure_ascii=False)}"
        opening = ","
    yield "[]\n" if opening == "[" else "\n]\n"


def _field_names(kind: Any) -> tuple[str, ...]:
    names = _NAMES.get(kind)
    if names is None:
        fields_of_tuple: tuple[str, ...] | None = getattr(kind, "_fields", None)
        names = _NAMES[kind] = fields_of_tuple or tuple(field.name for field in fields(kind))
    return names
