"""Arguments of the public API: checks of their types, and conversion of one value or several."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cache, wraps
from itertools import islice
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin

from nwx.errors import UsageError

_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])

_UNIONS, _LISTS = (UnionType, Union), (Sequence, Iterable, Collection)
_NUMBERS = {int: "__index__", float: "__float__"}
"""The methods that make a value a number: those of NumPy are no `int`."""

_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    PathLike: "a path",
    Path: "a pathlib.Path",
    Mapping: "a mapping",
}
_MOST_SHOWN = 100
_OTHERS = "**"

_T = TypeVar("_T")
_Choice = TypeVar("_Choice", bound=StrEnum)
OptionValues = str | int | Sequence[str | int]
"""One value of a filter, or several of which any may match."""

_ESCAPED_COMMA = "\\,"


def check_method_arguments(checked: _Class) -> _Class:
    """Make the public methods of a class check their arguments, inherited methods included."""
    for name, method in inspect.getmembers(checked, inspect.isfunction):
        if not name.startswith("_"):
            setattr(checked, name, check_arguments(method))
    return checked


def check_arguments(function: _Function) -> _Function:
    """Make a function raise UsageError on arguments of a wrong type.

    Checked are texts, numbers, truths and paths, and lists and mappings of them, by the annotations
    of the function. Dates check themselves (`date_text`).
    """

    @wraps(function)
    def checking(*values: object, **named: object) -> Any:
        positions, kinds = _kinds(function)
        given = dict(zip(positions, values, strict=False))  # the function refuses others
        for name, value in (given | named).items():
            kind = kinds.get(name, kinds.get(_OTHERS, Any))
            if not _fits(value, kind):
                shown = repr(value)[:_MOST_SHOWN]
                raise UsageError(f"{name} is {shown}; it must be {' or '.join(_words(kind))}")
        return function(*values, **named)

    return cast("_Function", checking)


@cache
def _kinds(function: Callable[..., Any]) -> tuple[tuple[str, ...], Mapping[str, Any]]:
    """Return the positional parameters of a function, and the annotations of all."""
    parameters = inspect.signature(function).parameters.values()
    return tuple(one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD), {
        _OTHERS if one.kind is one.VAR_KEYWORD else one.name: one.annotation for one in parameters
    }


def _fits(value: object, kind: Any) -> bool:
    """Return whether a value has a type, or the type is not checked."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in _UNIONS:
        return any(_fits(value, one) for one in inner)
    if origin in _LISTS:
        return _is_list(value) and all(_fits(one, inner[0]) for one in _items(value))
    if origin is Mapping:
        return isinstance(value, Mapping) and all(_fits(one, inner[1]) for one in value.values())
    if origin in _NUMBERS:
        return hasattr(value, _NUMBERS[origin])
    if origin is bool:
        return not isinstance(value, str)
    return origin not in (str, NoneType, PathLike, Path) or isinstance(value, origin)


def _is_list(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)


def _items(value: Any) -> Iterable[object]:
    """Return the items of a list, none of an iterator, as it can be read only once."""
    return () if isinstance(value, Iterator) else value


def _words(kind: Any) -> Iterator[str]:
    """Yield the names of the types that a value may have."""
    origin, inner = get_origin(kind) or kind, get_args(kind)
    if origin in _UNIONS:
        for one in inner:
            yield from _words(one)
    elif origin in _LISTS:
        yield f"a list of {' or '.join(f'{one[2:]}s' for one in _words(inner[0]))}"
    elif origin in _WORDS:
        yield _WORDS[origin]


def chosen(kind: type[_Choice], value: str) -> _Choice:
    """Return the enumeration member of a value; raises UsageError that lists all members."""
    try:
        return kind(value)
    except ValueError as error:
        raise UsageError.translated(
            "there is no %(value)s; choose one of %(choices)s",
            value=repr(value),
            choices=", ".join(kind),
        ) from error


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
