"""Conversion of options of the public API, given as one value or several, to one form."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import islice
from typing import TypeVar

from nwx.errors import UsageError

_T = TypeVar("_T")
_Choice = TypeVar("_Choice", bound=StrEnum)
OptionValues = str | int | Sequence[str | int]
"""One value of a filter, or several of which any may match."""

_ESCAPED_COMMA = "\\,"


def chosen(kind: type[_Choice], value: str) -> _Choice:
    """Return the enumeration member of a value; raises UsageError that lists all members."""
    try:
        return kind(value)
    except ValueError as error:
        raise UsageError(f"there is no {value!r}; choose one of {', '.join(kind)}") from error


def check_built(names: Iterable[str], known: Sequence[str]) -> None:
    """Raise UsageError on a name that is not in `known`."""
    unknown = set(names) - set(known)
    if unknown:
        raise UsageError(f"{min(unknown)} cannot be built; choose from {', '.join(known)}")


def first_of(rows: Iterable[_T], limit: int | None) -> Iterator[_T]:
    """Return the first rows, all if `limit` is None; raises UsageError if it is negative."""
    check_limit(limit)
    return islice(rows, limit)


def check_limit(limit: int | None) -> None:
    """Raise UsageError on a negative limit."""
    if limit is not None and limit < 0:
        raise UsageError(f"limit is {limit}; it must be 0 or more")


def several(value: str | Sequence[str]) -> tuple[str, ...]:
    """Return one text or several as a tuple; "" gives an empty one."""
    return (value,) if isinstance(value, str) and value else tuple(value)


def texts(values: OptionValues) -> tuple[str, ...]:
    """Return one value or several as texts, without empty ones."""
    if not isinstance(values, Iterable):
        return (str(values),)  # numbers of NumPy and pandas too
    found: Iterable[str | int] = (values,) if isinstance(values, str) else values
    return tuple(str(one) for one in found if one != "")


def filters_of(filters: Mapping[str, OptionValues]) -> dict[str, tuple[str, ...]]:
    """Return filters by name with their values as texts."""
    return {name: texts(values) for name, values in filters.items()}


def conditions_of(where: Mapping[str, OptionValues] | Sequence[str]) -> list[str]:
    """Return the conditions of a facet question in text form, `name=value,value`."""
    if not isinstance(where, Mapping):
        return list(several(where))
    return [
        f"{name}={','.join(one.replace(',', _ESCAPED_COMMA) for one in texts(values))}"
        for name, values in where.items()
    ]
