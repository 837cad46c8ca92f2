"""Query parameters of a CDX server: their names, and their values, checked when read."""

import re
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from urllib.parse import parse_qsl

from nwx.cdx.layouts import EXTRA_FIELDS, FIELD_PLACES
from nwx.errors import CdxQueryError, TimestampError
from nwx.values.timestamps import parse_timestamp

MOST_PARAMETERS = 200
MOST_VALUE_CHARACTERS = 16_384
LARGEST_LIMIT = 1_000_000_000
"""The largest limit that makes sense to ask for."""

_TRUE, _FALSE = ("true", "1", "yes", "on"), ("false", "0", "no", "off", "")
_DIGITS = re.compile(r"[0-9]+")
_LOWEST = "00000101000000"
_ZEROS = "0" * 14
_NO_YEAR = "0000"


class Parameters:
    """Names and values of a query string; texts are UTF-8."""

    def __init__(self, pairs: Iterable[tuple[str, str]]) -> None:
        self._values: dict[str, list[str]] = {}
        for name, value in pairs:
            self._values.setdefault(name, []).append(value)

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def only(self, name: str) -> str:
        """Return the value of a parameter where it is the only one, and given once, else ""."""
        values = self._values.get(name, ()) if len(self._values) == 1 else ()
        return values[0] if len(values) == 1 else ""

    def has_any(self, names: Collection[str]) -> bool:
        """Return whether any of these parameters is given."""
        return not self._values.keys().isdisjoint(names)

    def others(self, names: Collection[str]) -> tuple[tuple[str, str], ...]:
        """Return names and values of all parameters but these."""
        return tuple(
            (name, value)
            for name, values in self._values.items()
            if name not in names
            for value in values
        )

    def all(self, name: str) -> Sequence[str]:
        """Return all values of a parameter that say anything."""
        return [value for value in self._values.get(name, ()) if value]

    def text(self, name: str, default: str = "") -> str:
        """Return the value of a parameter; raises CdxQueryError for different ones."""
        values = self._values.get(name)
        if values is None:
            return default
        if len(values) > 1 and len(set(values)) > 1:
            raise CdxQueryError(f"{name} is given with different values; choose one")
        return values[0] or default

    def truth(self, name: str) -> bool:
        """Return whether a switch is on."""
        text = self.text(name).lower()
        if text not in (*_TRUE, *_FALSE):
            raise CdxQueryError(f"{name} is {text[:40]!r}; write true or false")
        return text in _TRUE

    def number(self, name: str, default: int | None, low: int, high: int) -> int | None:
        """Return a whole number between two others."""
        text = self.text(name).strip()
        if not text:
            return default
        digits = text.removeprefix("-")
        plain = _DIGITS.fullmatch(digits) is not None and len(digits) < 19
        if not plain or not low <= int(text) <= high:
            raise CdxQueryError(
                f"{name} is {text[:40]!r}; write a whole number from {low} to {high}"
            )
        return int(text)

    def date(self, *names: str) -> str:
        """Return the digits of a date, as many as given up to 14, "" for none.

        Raises CdxQueryError if they cannot begin a date.
        """
        for name in names:
            text = self.text(name)
            if text and not (_DIGITS.fullmatch(text) and len(text) < 18):
                raise CdxQueryError(f"{name} is {text[:40]!r}; write up to 14 digits, as 2010")
            if fault := _fault_of_date(text[:14]):
                raise CdxQueryError(f"{name} is {text!r}: {fault}")
            if text:
                return text[:14]
        return ""

    def moment(self, name: str) -> str:
        """Return a date as 14 digits, parts left out at their lowest, "" for none."""
        text = self.date(name)
        if not text:
            return ""
        full = text + _LOWEST[len(text) :]
        with CdxQueryError.instead_of(TimestampError, f"{name} is {text!r}"):
            parse_timestamp(full)
        return full


def _fault_of_date(digits: str) -> str:
    """Return why digits cannot begin a date, "" if they can; the year 0 means any."""
    fault = ""
    if digits.startswith(_NO_YEAR[: len(digits)]):
        return fault
    # The second digit of a day or a month may have to be 0: 2010043 begins the 30th of April.
    for filling in (_LOWEST, _ZEROS):
        try:
            parse_timestamp(digits + filling[len(digits) :][:1] + _LOWEST[len(digits) + 1 :])
        except TimestampError as error:
            fault = fault or str(error)
        else:
            return ""
    return fault


def parameters_of(query_string: str) -> Parameters:
    """Return the parameters of a query string.

    Raises CdxQueryError on too many or overlong ones, and on invalid UTF-8.
    """
    try:
        pairs = _plain_pairs(query_string) or parse_qsl(
            query_string,
            keep_blank_values=True,
            errors="surrogateescape",
            max_num_fields=MOST_PARAMETERS,
        )
    except ValueError as error:
        raise CdxQueryError(f"more than {MOST_PARAMETERS} parameters are not taken") from error
    for name, value in pairs:
        if len(value) > MOST_VALUE_CHARACTERS:
            raise CdxQueryError(
                f"{name[:40]} has {len(value)} characters; {MOST_VALUE_CHARACTERS} are taken"
            )
        if not value.isascii() and any("\udc80" <= sign <= "\udcff" for sign in value):
            raise CdxQueryError(
                f"{name[:40]!r} is no UTF-8; write the percent signs of a URL as %25"
            )
    return Parameters(pairs)


def _plain_pairs(query_string: str) -> list[tuple[str, str]]:
    """Return what `parse_qsl` does of a short query string without escapes, [] of others."""
    if "%" in query_string or "+" in query_string or query_string.count("&") >= MOST_PARAMETERS:
        return []
    parts = [part.partition("=") for part in query_string.split("&") if part]
    return [(name, value) for name, _, value in parts]


KNOWN = frozenset(
    (
        *("url", "urlkey", "matchType", "method", "requestBody", "collection", "dialect"),
        *("from", "from_ts", "to", "filter", "sort", "reverse", "closest", "limit", "offset"),
        *("collapse", "collapseToFirst", "collapseToLast", "collapseTime"),
        *("fl", "fields", "output", "digest", "gzip", "withOriginals", "resolveRevisits"),
        *("showResumeKey", "resumeKey", "page", "pageSize", "showNumPages"),
    )
)
_FIELDS = frozenset((*FIELD_PLACES, *EXTRA_FIELDS))
_CONTROLS_ACCESS = "accesspoint"
_NEAR = 0.8


def check_names(names: Iterable[str]) -> None:
    """Raise CdxQueryError on a name that is likely to be meant for another."""
    for name in names:
        if name in KNOWN:
            continue
        if name == _CONTROLS_ACCESS:
            raise CdxQueryError(f"{name} is not supported: there are no rules of access here")
        if name in _FIELDS:
            raise CdxQueryError(f"{name} is a field and no parameter; write filter={name}:VALUE")
        near = _nearest(name)
        if near:
            raise CdxQueryError(f"there is no parameter {name[:40]!r}; did you mean {near}?")


def _nearest(name: str) -> str:
    """Return the known name that another is nearly, "" for none."""
    lowered = {known.lower(): known for known in sorted(KNOWN)}
    plain = name[:40].lower().replace("_", "").replace("-", "")
    found = get_close_matches(plain, lowered, 1, _NEAR)
    return lowered[found[0]] if found else ""
