"""Base classes of criteria: their values, and how these are parsed, coded and queried."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import polars as pl

from nwx.engine.facet_store import AnyOf, Between, LiveFilter, OneOf, Unset
from nwx.errors import ErrorText, UsageError

UNKNOWN = "unknown"
"""The value of captures for which a criterion is missing or invalid."""

_AFTER_DIGITS = "~"
_QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"'})


class CriterionDefinition(ABC):
    """The definition of a criterion, the single source of its properties.

    `name` is what users write, `label` its title. `capture_field` is the field of the captures
    index that the value is read from, `facets_field` the field of the facets index, "" if no
    combinations are stored. `values` lists all values in order if they are fixed, else it is empty.
    Values of an `ordinal` criterion have their own order; a criterion with `spans` can be queried
    as `low..high`.

    `of_payload` means that a revisit has the value of the payload that it refers to. `query_filter`
    is the full-text search parameter that filters by the value, "" if none exists. `derived_from`
    is the criterion whose value determines this one's, "" if the value is read from captures.
    """

    name: ClassVar[str]
    label: ClassVar[str]
    description: ClassVar[str]
    example: ClassVar[str]
    capture_field: ClassVar[str]
    facets_field: ClassVar[str] = ""
    values: ClassVar[tuple[str, ...]] = ()
    ordinal: ClassVar[bool] = False
    spans: ClassVar[bool] = False
    of_payload: ClassVar[bool] = False
    query_filter: ClassVar[str] = ""
    derived_from: ClassVar[str] = ""

    @abstractmethod
    def of_value(self, value: Any) -> str:
        """Return the value of a capture whose field is `value`, None if it has no such field."""

    @abstractmethod
    def of_series(self, values: pl.Series) -> pl.Series:
        """Return `of_value` of a column: positions in `values` if these are fixed, else texts.

        Both columns have equal length; positions are UInt8.
        """

    @abstractmethod
    def to_filter(self, values: Sequence[str]) -> LiveFilter:
        """Return the condition on captures that their value is one of `values`.

        Some additional captures may match, as with `depth`. It tests the captures' own values, as
        if no revisit had a payload elsewhere.
        """

    @abstractmethod
    def order(self, value: str) -> tuple[bool, int, str]:
        """Return the sort key of a value; unknown sorts last."""

    def derive(self, value: str) -> str:
        """Return the value that a value of the criterion `derived_from` implies."""
        return value

    def parse(self, text: str) -> tuple[str, ...]:
        """Return the values of a text; raises UsageError on invalid ones."""
        return (text,)

    def parse_end(self, text: str) -> str:
        """Return the end of a span as written; raises UsageError on an invalid end."""
        (value,) = self.parse(text)
        return value

    def in_span(self, value: str, low: str, high: str) -> bool:
        """Return whether a value is in a span; both ends are inclusive, "" is open.

        The unknown value is in no span.
        """
        raise UsageError.translated("%(name)s does not support ranges", name=self.name)

    def span_to_filter(self, low: str, high: str) -> LiveFilter:
        """Return the condition on captures that their value is in a span."""
        return self.to_filter([one for one in self.values if self.in_span(one, low, high)])

    def value_to_query(self, value: str) -> str | None:
        """Return the full-text clause for a value, None if it cannot be expressed."""
        return None

    def to_query(self, values: Sequence[str]) -> str | None:
        """Return the clause of a full-text query for any of these values.

        None if the search has no such clause: it finds documents, not captures.
        """
        clauses = [self.value_to_query(value) for value in values]
        if UNKNOWN in values or None in clauses:
            return None
        joined = " OR ".join(filter(None, clauses))
        return f"({joined})" if len(clauses) > 1 else joined

    def span_to_query(self, low: str, high: str) -> str | None:
        """Return the full-text clause for a span, None if it cannot be expressed."""
        return None


class FixedValues(CriterionDefinition):
    """A criterion with a few fixed values, whose positions are their codes."""

    def order(self, value: str) -> tuple[bool, int, str]:
        return value == UNKNOWN, self.values.index(value), value

    def parse(self, text: str) -> tuple[str, ...]:
        # FacetRedux writes its sizes with a dash.
        plain = text.replace("–", "-").lower()
        for value in self.values:
            if value.lower() == plain:
                return (value,)
        raise UsageError.translated(
            "%(text)s is not a valid %(name)s; use %(choices)s",
            text=repr(text[:80]),
            name=self.name,
            choices=", ".join(self.values),
        )

    def parse_end(self, text: str) -> str:
        value = super().parse_end(text)
        if value == UNKNOWN:
            raise UsageError.translated(
                "%(unknown)s cannot be the end of a range of %(name)s",
                unknown=UNKNOWN,
                name=self.name,
            )
        return value

    def in_span(self, value: str, low: str, high: str) -> bool:
        place = self._place(value)
        return (
            value != UNKNOWN
            and (not low or place >= self._place(low))
            and (not high or place <= self._place(high))
        )

    def _place(self, value: str) -> int:
        if value not in self.values:
            raise UsageError.translated(
                "%(value)s is not one of %(choices)s",
                value=repr(value),
                choices=", ".join(self.values),
            )
        return self.values.index(value)


class TextValues(CriterionDefinition):
    """A criterion whose values are the texts of a field."""

    def of_value(self, value: Any) -> str:
        return value or UNKNOWN

    def of_series(self, values: pl.Series) -> pl.Series:
        return or_unknown(values)

    def to_filter(self, values: Sequence[str]) -> LiveFilter:
        found: list[LiveFilter] = [OneOf(self.capture_field, tuple(values))]
        # Some captures have the text "unknown" itself.
        return AnyOf((*found, Unset(self.capture_field)) if UNKNOWN in values else tuple(found))

    def order(self, value: str) -> tuple[bool, int, str]:
        return value == UNKNOWN, 0, value


class Periods(CriterionDefinition):
    """A criterion whose values are periods of time: `2013-01`, or `2013`.

    `form` is the pattern of a value, `written` describes it in messages.
    """

    capture_field = "timestamp"
    ordinal = True
    spans = True
    form: ClassVar[re.Pattern[str]]
    written: ClassVar[ErrorText]

    def order(self, value: str) -> tuple[bool, int, str]:
        return value == UNKNOWN, 0, value

    def parse(self, text: str) -> tuple[str, ...]:
        if text != UNKNOWN and not self.form.fullmatch(text):
            raise UsageError.translated(
                "%(text)s is not a valid %(name)s; write %(written)s",
                text=repr(text[:80]),
                name=self.name,
                written=self.written,
            )
        return (text,)

    def parse_end(self, text: str) -> str:
        if not self.form.fullmatch(text):
            raise UsageError.translated(
                "%(text)s is not a valid end of a range of %(name)s",
                text=repr(text[:80]),
                name=self.name,
            )
        return text

    def in_span(self, value: str, low: str, high: str) -> bool:
        return value != UNKNOWN and (not low or value >= low) and value[: len(high)] <= high

    def to_filter(self, values: Sequence[str]) -> LiveFilter:
        # All captures in an index have a date: none is unknown.
        return AnyOf(tuple(_between(one, one) for one in sorted(values) if one != UNKNOWN))

    def span_to_filter(self, low: str, high: str) -> LiveFilter:
        return _between(low, high)

    def value_to_query(self, value: str) -> str | None:
        return f"date:{value}"

    def span_to_query(self, low: str, high: str) -> str | None:
        return f"date:{low}..{high}"


def _between(low: str, high: str) -> LiveFilter:
    since, until = low.replace("-", ""), high.replace("-", "")
    return Between("timestamp", since or None, until + _AFTER_DIGITS if until else None)


def or_unknown(values: pl.Series) -> pl.Series:
    """Return texts with empty and missing ones replaced by UNKNOWN."""
    unknown = pl.Series([UNKNOWN], dtype=pl.String)
    return values.fill_null(UNKNOWN).zip_with((values != "").fill_null(True), unknown)


def quoted_clause(field: str, value: str) -> str:
    """Return the full-text clause that matches exactly this text in a field."""
    return f'{field}:"{value.translate(_QUOTED)}"'
