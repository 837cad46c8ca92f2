"""The criteria by which captures are counted, each defined by one class."""

import math
import re
from collections.abc import Collection, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Any, Self

import numpy as np
import polars as pl

from nwx.engine.facet_store import AnyOf, Between, Ending, Like, LiveFilter, Not, Unset
from nwx.errors import ErrorText, UsageError
from nwx.facets.definitions import (
    UNKNOWN,
    CriterionDefinition,
    FixedValues,
    Periods,
    TextValues,
    or_unknown,
    quoted_clause,
)
from nwx.query.fields import FILTERS, resolve_field
from nwx.values.urls import host_parts

MAX_SIZE = 1 << 40
"""Larger sizes in bytes are invalid: their category is unknown, and they add no bytes."""

KNOWN_SIZE = Between("content_length", 0, MAX_SIZE + 1)
"""The condition on captures that their size is known."""

_MAX_DEPTH = 50
_KB = 1024.0


class _Status(FixedValues):
    name = "status"
    label = "Status"
    description = "the class of the HTTP status; `ignored` is any other or none"
    example = "ok"
    capture_field = "status_code"
    facets_field = "status"
    values = ("ok", "redirection", "request_error", "server_error", "ignored")

    def of_value(self, value: int | None) -> str:
        known = value is not None and 200 <= value < 600
        return self.values[value // 100 - 2] if known and value is not None else "ignored"

    def of_series(self, values: pl.Series) -> pl.Series:
        places = values.fill_null(0).to_numpy() // 100 - 2
        ignored = len(self.values) - 1
        known = (places >= 0) & (places < ignored)
        return pl.Series(np.where(known, places, ignored).astype(np.uint8))

    def to_filter(self, values: Sequence[str]) -> LiveFilter:
        field, found = self.capture_field, list[LiveFilter]()
        for place, value in enumerate(self.values):
            if value in values and value != "ignored":
                found.append(Between(field, 200 + 100 * place, 300 + 100 * place))
        if "ignored" in values:
            found += [Between(field, None, 200), Between(field, 600), Unset(field)]
        return AnyOf(tuple(found))

    def value_to_query(self, value: str) -> str | None:
        low = 200 + 100 * self.values.index(value)
        return None if value == "ignored" else f"status:[{low} TO {low + 99}]"


class _Month(Periods):
    name = "month"
    label = "Month"
    description = "the month of the capture, such as 2013-01"
    example = "2013-01..2013-12"
    written = ErrorText("2013-01, 2013 for the year, or 2013-01..2013-06")
    facets_field = "month"
    form = re.compile(r"[0-9]{4}-(?:0[1-9]|1[0-2])")

    _date = re.compile(r"[0-9]{4}(?:0[1-9]|1[0-2])")
    _year = re.compile(r"[0-9]{4}")

    def of_value(self, value: str | None) -> str:
        known = value and value.isascii() and self._date.match(value)
        return f"{value[:4]}-{value[4:6]}" if known and value else UNKNOWN

    def of_series(self, values: pl.Series) -> pl.Series:
        months = values.str.slice(0, 4) + "-" + values.str.slice(4, 2)
        known = values.str.contains(f"^{self._date.pattern}").fill_null(False)
        return months.zip_with(known, pl.Series([UNKNOWN], dtype=pl.String))

    def parse(self, text: str) -> tuple[str, ...]:
        """Return the months of a text: the month itself, or all months of a year."""
        if self._year.fullmatch(text):
            return tuple(f"{text}-{month:02}" for month in range(1, 13))
        return super().parse(text)

    def parse_end(self, text: str) -> str:
        return text if self._year.fullmatch(text) else super().parse_end(text)

    def to_query(self, values: Sequence[str]) -> str | None:
        return super().to_query(whole_years(values))


class _Year(Periods):
    name = "year"
    label = "Year"
    description = "the year of the capture"
    example = "2013"
    written = ErrorText("2013, or 2010..2015")
    form = re.compile(r"[0-9]{4}")
    derived_from = "month"

    def of_value(self, value: str | None) -> str:
        return self.derive(_Month().of_value(value))

    def of_series(self, values: pl.Series) -> pl.Series:
        months = _Month().of_series(values)
        return months.str.slice(0, 4).zip_with(months != UNKNOWN, months)

    def derive(self, value: str) -> str:
        return value if value == UNKNOWN else value[:4]


class _Site(TextValues):
    name = "site"
    label = "Site"
    description = "the name that a URL has in the list of sites, else its registrable domain"
    example = "example.org"
    capture_field = "domain"
    facets_field = "site"
    query_filter = "domain"

    def parse(self, text: str) -> tuple[str, ...]:
        # Names from a list of sites are unchanged, domains are in lower case and IDNA.
        host, domain, _ = host_parts(text)
        return (text, host) if domain and host != text and "." in text else (text,)

    def value_to_query(self, value: str) -> str | None:
        # Names from a list of sites are not domains in the documents index.
        named = " " in value or ("." not in value and ":" not in value and value != "localhost")
        return None if named else quoted_clause("domain", value)


class _Type(TextValues):
    name = "type"
    label = "Type"
    description = "the family of the content type"
    example = "html,pdf"
    capture_field = "content_type_norm"
    facets_field = "content_type_norm"
    of_payload = True
    query_filter = "type"

    def parse(self, text: str) -> tuple[str, ...]:
        return (text.lower(),)

    def value_to_query(self, value: str) -> str | None:
        return quoted_clause("type", value)


class _Tld(TextValues):
    name = "tld"
    label = "TLD"
    description = "the top-level domain"
    example = "org"
    capture_field = "public_suffix"
    facets_field = "tld"

    def of_value(self, value: str | None) -> str:
        return (value or "").rpartition(".")[2] or UNKNOWN

    def of_series(self, values: pl.Series) -> pl.Series:
        return or_unknown(values.str.extract(r"([^.]*)$"))

    def to_filter(self, values: Sequence[str]) -> LiveFilter:
        below = (Ending(self.capture_field, f".{value}") for value in values)
        return AnyOf((*below, super().to_filter(values)))

    def parse(self, text: str) -> tuple[str, ...]:
        return (host_parts(text).host,)

    def value_to_query(self, value: str) -> str | None:
        return f"({quoted_clause('tld', value)} OR tld:*.{value})"


class _Size(FixedValues):
    name = "size"
    label = "Size"
    description = "the category of the payload's bytes"
    example = "1.4M-15M"
    capture_field = "content_length"
    facets_field = "size"
    # FacetRedux's categories, the lower end inclusive; then the one for unknown sizes.
    values = (
        "0",
        "0-1.2K",
        "1.2K-15K",
        "15K-150K",
        "150K-1.4M",
        "1.4M-15M",
        "15M-120M",
        "120M+",
        UNKNOWN,
    )
    ordinal = True
    spans = True
    of_payload = True

    starts = tuple(
        map(
            math.ceil,
            (0, 1, 1.2 * _KB, 15 * _KB, 150 * _KB, 1.4 * _KB**2, 15 * _KB**2, 120 * _KB**2),
        )
    )
    """The smallest size of each category, in bytes."""

    def of_value(self, value: int | None) -> str:
        if value is None or not 0 <= value <= MAX_SIZE:
            return UNKNOWN
        return self.values[sum(value >= start for start in self.starts) - 1]

    def of_series(self, values: pl.Series) -> pl.Series:
        sizes = known_sizes(values)
        places = np.searchsorted(self.starts[1:], sizes, side="right").astype(np.uint8)
        places[sizes < 0] = self.values.index(UNKNOWN)
        return pl.Series(places)

    def to_filter(self, values: Sequence[str]) -> LiveFilter:
        ends = (*self.starts, MAX_SIZE + 1)
        found: list[LiveFilter] = [
            Between(self.capture_field, ends[place], ends[place + 1])
            for place, value in enumerate(self.values)
            if value in values and value != UNKNOWN
        ]
        return AnyOf((*found, Not(KNOWN_SIZE)) if UNKNOWN in values else tuple(found))

    def value_to_query(self, value: str) -> str | None:
        return None if value == UNKNOWN else self.span_to_query(value, value)

    def span_to_query(self, low: str, high: str) -> str | None:
        first = self.values.index(low) if low else 0
        last = self.values.index(high) if high else len(self.starts) - 1
        end = self.starts[last + 1] - 1 if last + 1 < len(self.starts) else "*"
        return f"size:[{self.starts[first]} TO {end}]"


class _Depth(FixedValues):
    """The number of hyperlinks among the hops that a crawler recorded.

    Heritrix writes one letter per hop (L for a hyperlink, E for an embedded resource, R for a
    redirect), and abbreviates the first hops of a long path to their number: `7+LLE`.
    """

    name = "depth"
    label = "Depth"
    description = "the hyperlinks from the start page, as recorded by the crawler"
    example = "0..2"
    capture_field = "hops"
    facets_field = "depth"
    values = (*map(str, range(_MAX_DEPTH)), f"{_MAX_DEPTH}+", UNKNOWN)
    ordinal = True
    spans = True

    _counted = re.compile(r"([0-9]{1,4})\+")
    _deep = re.compile("[1-9][0-9]+")

    def of_value(self, value: str | None) -> str:
        if not value:
            return UNKNOWN
        counted = self._counted.match(value)
        depth = value.count("L") + (int(counted[1]) if counted else 0)
        return self.values[min(depth, _MAX_DEPTH)]

    def of_series(self, values: pl.Series) -> pl.Series:
        unknown = values.is_null() | (values == "")
        counted = values.str.extract(f"^{self._counted.pattern}").cast(pl.Int64).fill_null(0)
        depths = (values.str.count_matches("L").fill_null(0) + counted).clip(0, _MAX_DEPTH)
        places = depths.to_numpy().astype(np.uint8)
        return pl.Series(np.where(unknown.to_numpy(), np.uint8(len(self.values) - 1), places))

    def to_filter(self, values: Sequence[str]) -> LiveFilter:
        """Return the condition; captures with abbreviated first hops always match it."""
        places = [place for place, value in enumerate(self.values) if value in values]
        known = [place for place in places if place <= _MAX_DEPTH]
        found: list[LiveFilter] = [Like("hops", f"{self._counted.pattern}.*")] if known else []
        for _, run in groupby(enumerate(known), lambda item: item[1] - item[0]):
            depths = [depth for _, depth in run]
            highest = "" if depths[-1] == _MAX_DEPTH else depths[-1]
            found.append(Like("hops", f"[^L]*(L[^L]*){{{depths[0]},{highest}}}"))
        return AnyOf((*found, Unset("hops")) if UNKNOWN in values else tuple(found))

    def parse(self, text: str) -> tuple[str, ...]:
        deep = self._deep.fullmatch(text) and text not in self.values
        return (self.values[_MAX_DEPTH],) if deep else super().parse(text)


class _Collection(TextValues):
    name = "collection"
    label = "Collection"
    description = "the collection that the capture belongs to"
    example = "default"
    capture_field = "collection"
    query_filter = "collection"

    def value_to_query(self, value: str) -> str | None:
        return quoted_clause("collection", value)


class Criterion(StrEnum):
    """A criterion by which captures are counted; the value is its name."""

    _value_: str
    definition: CriterionDefinition

    STATUS = _Status()
    MONTH = _Month()
    YEAR = _Year()
    SITE = _Site()
    TYPE = _Type()
    TLD = _Tld()
    SIZE = _Size()
    DEPTH = _Depth()
    COLLECTION = _Collection()

    def __new__(cls, definition: CriterionDefinition) -> Self:
        """Return the criterion of a definition."""
        criterion = str.__new__(cls, definition.name)
        criterion._value_ = definition.name
        criterion.definition = definition
        return criterion

    @classmethod
    def named(cls, text: str) -> Self:
        """Return the criterion of this name; raises UsageError on unknown names."""
        name = text.strip().lower()
        for criterion in cls:
            if name in (criterion.value, criterion.definition.query_filter or criterion.value):
                return criterion
        if resolve_field(name):
            raise UsageError.translated(
                "captures are not counted by %(text)s, a field of documents: `nwx search --facets` "
                "counts documents by %(choices)s, `nwx sql` by any field",
                text=repr(name),
                choices=", ".join(FILTERS),
            )
        raise UsageError.translated(
            "there is no criterion %(text)s; use %(choices)s",
            text=repr(text[:80]),
            choices=", ".join(cls),
        )

    @property
    def source(self) -> "Criterion":
        """The criterion that this one is derived from, or itself."""
        # Used for each condition of each question: avoid iterating over all criteria.
        derived_from = self.definition.derived_from
        return _CRITERIA[derived_from] if derived_from else self


_CRITERIA = {one.value: one for one in Criterion}

COLUMN_CRITERIA = tuple(one for one in Criterion if one.source is one)
"""The criteria with columns; the others are derived from these."""

CUBE = tuple(
    one for one in Criterion if one.definition.facets_field and one is not Criterion.STATUS
)
"""The criteria of stored combinations, in any subset: 64 groupings.

All combinations also have a status.
"""


def grouping_name(criteria: Collection[str]) -> str:
    """Return the name of a grouping: its criteria except the status, in the order of CUBE."""
    return ",".join(one for one in CUBE if one in criteria)


def month_name(digits: str | None) -> str:
    """Return the month of a timestamp or of its first digits, as `yyyy-mm`."""
    return Criterion.MONTH.definition.of_value(digits)


def known_sizes(sizes: pl.Series) -> "np.ndarray[Any, np.dtype[np.int64]]":
    """Return the sizes of captures in bytes (int64), -1 if unknown."""
    found = sizes.fill_null(-1).to_numpy()
    return np.where((found >= 0) & (found <= MAX_SIZE), found, -1)


def whole_years(months: Sequence[str]) -> list[str]:
    """Return months with each complete set of twelve replaced by its year."""
    whole = {
        month[:4]
        for month in months
        if month[5:] == "01" and {f"{month[:4]}-{other:02}" for other in range(1, 13)} <= {*months}
    }
    return list(dict.fromkeys(month[:4] if month[:4] in whole else month for month in months))
