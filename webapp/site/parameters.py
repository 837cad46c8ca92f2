"""Parsing and validation of request parameters."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeVar
from urllib.parse import urlencode

from flask_babel import gettext

from nwx.errors import ErrorText, UrlError, UsageError
from nwx.query.fields import FILTERS
from nwx.values.urlkeys import urlkey, with_scheme

MAX_QUERY = 4_000
MAX_VALUE = 2_000
MAX_REPEATED = 50
MAX_URL = 16_384
MAX_OFFSET = 10**9
DECIMAL = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")

Choice = TypeVar("Choice", bound=StrEnum)


class Arguments(Protocol):
    """The parameters of a request, as in Flask."""

    def get(self, key: str, default: str) -> str:
        """Return the first value of a parameter."""

    def getlist(self, key: str) -> list[str]:
        """Return all values of a parameter."""


def text(arguments: Arguments, name: str, limit: int = MAX_VALUE) -> str:
    """Return a text of at most `limit` characters, by default "".

    Raises UsageError on longer texts and on different values.
    """
    values = set(map(str.strip, arguments.getlist(name))) or {""}
    if len(values) > 1:
        raise UsageError.translated(
            "%(name)s is given with different values; choose one", name=name
        )
    return _short(name, values.pop(), limit)


def _short(name: str, value: str, most: int) -> str:
    if len(value) > most:
        raise UsageError.translated(
            "%(name)s has %(length)s characters; at most %(most)s are allowed",
            name=name,
            length=len(value),
            most=most,
        )
    return value


def different(
    name: str, given: Iterable[str], most: int = MAX_REPEATED, longest: int = MAX_VALUE
) -> tuple[str, ...]:
    """Return the distinct values of a parameter that may be repeated; raises UsageError."""
    values = tuple(dict.fromkeys(value for value in given if value))
    if len(values) > most:
        raise UsageError.translated(
            "%(name)s is given %(times)s times; at most %(most)s are allowed",
            name=name,
            times=len(values),
            most=most,
        )
    return tuple(_short(name, value, longest) for value in values)


def url(arguments: Arguments, name: str = "url") -> str:
    """Return a valid URL with a scheme, by default ""; raises UsageError."""
    value = with_scheme(text(arguments, name, MAX_URL))
    try:
        urlkey(value)
    except UrlError as error:
        raise UsageError(ErrorText("%(name)s: %(reason)s", name=name, reason=error)) from error
    return value


def needed_url(arguments: Arguments, address: str) -> str:
    """Return the parameter `url` of a page at `address`; raises UsageError if it is missing."""
    value = url(arguments)
    if not value:
        example = f"{address}?url=ADDRESS"
        raise UsageError(gettext("url is missing; write %(address)s", address=example))
    return value


def number_parameter(arguments: Arguments, name: str, default: int, low: int, high: int) -> int:
    """Return a whole number from `low` to `high`, or `default`; raises UsageError."""
    value = text(arguments, name, 20)
    if not value:
        return default
    if not (value.isascii() and value.isdigit() and low <= int(value) <= high):
        raise UsageError(
            gettext(
                "%(name)s is %(value)s; write a whole number from %(low)s to %(high)s",
                name=name,
                value=repr(value),
                low=low,
                high=high,
            )
        )
    return int(value)


def choice(arguments: Arguments, name: str, default: Choice) -> Choice:
    """Return a value of the enumeration of `default`, which is the default; raises UsageError."""
    return optional_choice(arguments, name, type(default)) or default


def optional_choice(arguments: Arguments, name: str, kind: type[Choice]) -> Choice | None:
    """Return a value of an enumeration, by default None; raises UsageError."""
    value = text(arguments, name, 50)
    return kind(one_of_these(name, value, kind)) if value else None


def one_of_these(name: str, value: str, choices: Iterable[str]) -> str:
    """Return `value`; raises UsageError if it is not one of the choices."""
    choices = tuple(choices)
    if value not in choices:
        raise UsageError.translated(
            "%(name)s is %(value)s; choose one of %(choices)s",
            name=name,
            value=repr(value),
            choices=", ".join(choices),
        )
    return value


def one_of(arguments: Arguments, name: str, default: int, values: Sequence[int]) -> int:
    """Return one of the given numbers, or `default`; raises UsageError."""
    value = text(arguments, name, 20)
    return int(one_of_these(name, value, map(str, values))) if value else default


def paging(arguments: Arguments, default: int, most: int, least: int = 0) -> tuple[int, int]:
    """Return the offset and the limit of a list; raises UsageError."""
    offset = number_parameter(arguments, "offset", 0, 0, MAX_OFFSET)
    return offset, number_parameter(arguments, "limit", default, least, most)


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list: its number, counted from 1, and its number of rows."""

    number: int
    size: int

    @property
    def begin(self) -> int:
        """The number of rows before the page."""
        return (self.number - 1) * self.size

    @property
    def end(self) -> int:
        """The end of the rows to fetch: one more than the page has, to see if there are more."""
        return self.begin + self.size + 1

    def shown(self, rows: Sequence[Any]) -> dict[str, Any]:
        """Return the template variables of the rows from `begin` to `end`."""
        return {
            "page": self.number,
            "rows": rows[: self.size],
            "more": len(rows) > self.size,
        }


def list_page(arguments: Arguments, size: int, most: int = 10_000) -> Page:
    """Return the requested page of a list of at most `most` pages."""
    return Page(number_parameter(arguments, "page", 1, 1, most), size)


@dataclass(frozen=True, slots=True)
class Asked:
    """The parameters of an address, from which addresses of links are made.

    Addresses omit parameters that are empty or have their default in `usual`.
    """

    base: str
    values: Mapping[str, object]
    usual: Mapping[str, object] = field(default_factory=dict)

    @property
    def given(self) -> dict[str, str]:
        """The parameters that differ from their defaults."""
        return dict(self._pairs({}))

    def options(self) -> dict[str, Any]:
        """Return the parameters as options of the Python API; `from`, a keyword, is `from_`."""
        return {"from_" if name == "from" else name: value for name, value in self.given.items()}

    def address(self, base: str = "", **changed: object) -> str:
        """Return the address with some parameters changed, on page `base` if given."""
        pairs = urlencode(self._pairs(changed))
        return f"{base or self.base}?{pairs}" if pairs else base or self.base

    def _pairs(self, changed: Mapping[str, object]) -> list[tuple[str, str]]:
        return [
            (name, str(one))
            for name, value in {**self.values, **changed}.items()
            if value and value != self.usual.get(name)
            for one in (value if isinstance(value, tuple) else (value,))
        ]


def filters(arguments: Arguments) -> dict[str, tuple[str, ...]]:
    """Return the values of each active filter, by its name in FILTERS; raises UsageError."""
    found = {name: _values(arguments, name) for name in FILTERS}
    return {name: values for name, values in found.items() if values}


def _values(arguments: Arguments, name: str) -> tuple[str, ...]:
    values = different(name, arguments.getlist(name))
    for value in values:
        _check_value(name, value)
    return values


def _check_value(name: str, value: str) -> None:
    digits = value.isascii() and value.isdigit()
    if name == "year" and not (digits and len(value) == 4):
        raise UsageError(
            gettext(
                "%(name)s is %(value)s; write four digits, such as 2010",
                name=name,
                value=repr(value),
            )
        )
    if name == "status" and not (digits and len(value) <= 5):
        raise UsageError(
            gettext(
                "%(name)s is %(value)s; write a number, such as 404", name=name, value=repr(value)
            )
        )
