"""Facet questions, their text form, and their answers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from nwx.engine.facet_store import LiveFilter, Not
from nwx.errors import UsageError
from nwx.facets.criteria import Criterion
from nwx.values.timestamps import REVERSED_RANGE


class Feature(StrEnum):
    """The names of the features."""

    CAPTURES = "captures"
    UNIQUE_DOCUMENTS = "unique_documents"
    UNIQUE_URLS = "unique_urls"
    BYTES = "bytes"
    UNIQUE_BYTES = "unique_bytes"
    AVERAGE_SIZE = "average_size"
    AVERAGE_DOCUMENT_SIZE = "average_document_size"
    DUPLICATION_RATIO = "duplication_ratio"


@dataclass(frozen=True, slots=True)
class DescribedFeature:
    """The description of a feature; `unit` is `count`, `bytes` or `ratio`."""

    title: str
    description: str
    unit: str


FEATURES: dict[Feature, DescribedFeature] = {
    Feature.CAPTURES: DescribedFeature(
        "Captures", "archived exchanges, revisits included", "count"
    ),
    Feature.UNIQUE_DOCUMENTS: DescribedFeature(
        "Unique documents", "different payloads, by their digest", "count"
    ),
    Feature.UNIQUE_URLS: DescribedFeature("Unique URLs", "different URLs", "count"),
    Feature.BYTES: DescribedFeature("Bytes", "bytes of the payloads of all captures", "bytes"),
    Feature.UNIQUE_BYTES: DescribedFeature(
        "Unique bytes", "bytes of the unique documents, each once", "bytes"
    ),
    Feature.AVERAGE_SIZE: DescribedFeature(
        "Average size", "unique bytes per unique URL, as in FacetRedux", "bytes"
    ),
    Feature.AVERAGE_DOCUMENT_SIZE: DescribedFeature(
        "Average document", "unique bytes per unique document", "bytes"
    ),
    Feature.DUPLICATION_RATIO: DescribedFeature(
        "Duplication ratio", "bytes over unique bytes", "ratio"
    ),
}


@dataclass(frozen=True, slots=True)
class Features:
    """The features of selected captures; counts are exact unless the answer says otherwise."""

    captures: int = 0
    unique_documents: int = 0
    unique_urls: int = 0
    bytes: int = 0
    unique_bytes: int = 0

    @property
    def average_size(self) -> float | None:
        """Bytes of unique documents divided by unique URLs, None without URLs."""
        return self.unique_bytes / self.unique_urls if self.unique_urls else None

    @property
    def average_document_size(self) -> float | None:
        """Bytes of unique documents divided by their number, None without documents."""
        return self.unique_bytes / self.unique_documents if self.unique_documents else None

    @property
    def duplication_ratio(self) -> float | None:
        """Bytes of all captures divided by bytes of unique documents, None for zero bytes."""
        return self.bytes / self.unique_bytes if self.unique_bytes else None

    def value(self, feature: Feature) -> int | float | None:
        """Return one of the features."""
        found: int | float | None = getattr(self, feature.value)
        return found


STORED_FEATURES = tuple(feature.name for feature in fields(Features))
"""The names of the counted and stored features; the others are computed from them."""


def parse_features(text: str) -> tuple[Feature, ...]:
    """Return the features of a comma-separated list, all of them for an empty one.

    Raises UsageError on unknown names.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    return tuple(map(parse_feature, dict.fromkeys(names))) or tuple(Feature)


def parse_feature(text: str) -> Feature:
    """Return the feature of this name; raises UsageError on unknown names."""
    if text not in set(Feature):
        raise UsageError.translated(
            "there is no feature %(text)s; use %(choices)s",
            text=repr(text[:80]),
            choices=", ".join(Feature),
        )
    return Feature(text)


def features_json(features: Features, wanted: Sequence[Feature] = tuple(Feature)) -> dict[str, Any]:
    """Return the wanted features by name."""
    return {feature.value: features.value(feature) for feature in wanted}


MAX_BY = 2
MAX_CONDITIONS = 100
MAX_CONDITION_VALUES = 10_000

_CONDITION = re.compile(r"\s*([a-z_]+)\s*(!?=)(.*)", re.DOTALL | re.IGNORECASE)
_SEPARATOR = re.compile(r"(?<!\\),")


@dataclass(frozen=True, slots=True)
class FacetCondition:
    """A condition on a criterion: one of `values`, or in `low` to `high`, or the negation.

    Spans include both ends; "" is open. The unknown value is in no span.
    """

    criterion: Criterion
    values: tuple[str, ...] = ()
    low: str = ""
    high: str = ""
    negated: bool = False

    @property
    def is_span(self) -> bool:
        """Whether the condition is a span."""
        return not self.values

    def accepts(self, value: str) -> bool:
        """Return whether a value of the criterion meets the condition."""
        if self.is_span:
            inside = self.criterion.definition.in_span(value, self.low, self.high)
        else:
            inside = value in self.values
        return inside != self.negated

    def to_filter(self) -> LiveFilter:
        """Return the condition on captures, tested on their own values.

        Some additional captures may match: see CriterionDefinition.to_filter.
        """
        definition = self.criterion.definition
        if definition.values:
            return definition.to_filter(list(filter(self.accepts, definition.values)))
        if self.is_span:
            found = definition.span_to_filter(self.low, self.high)
        else:
            found = definition.to_filter(self.values)
        return Not(found) if self.negated else found

    def to_query(self) -> str | None:
        """Return the condition as a clause of a full-text query, None if it has none."""
        definition = self.criterion.definition
        if self.is_span:
            clause = definition.span_to_query(self.low, self.high)
        else:
            clause = definition.to_query(self.values)
        return f"NOT {clause}" if clause and self.negated else clause

    def __str__(self) -> str:
        """Return the condition as text: `tld=fr,be`, `month=2013-01..2013-12`."""
        if self.is_span:
            wanted = f"{self.low}..{self.high}"
        else:
            wanted = ",".join(value.replace(",", "\\,") for value in self.values)
        return f"{self.criterion}{'!=' if self.negated else '='}{wanted}"


@dataclass(frozen=True, slots=True)
class FacetQuestion:
    """A question: the features of the captures that meet all conditions.

    With `by`, one or two criteria, also the features of each of their values: ordered by the
    feature `sort`, the highest first, or by value if `sort` is None; `reverse` inverts the order.
    `limit` cuts the list, None does not.
    """

    where: tuple[FacetCondition, ...] = ()
    by: tuple[Criterion, ...] = ()
    sort: Feature | None = None
    reverse: bool = False
    limit: int | None = None

    def ordered(self, rows: Sequence["FacetRow"]) -> tuple["FacetRow", ...]:
        """Return the rows of the list in its order, at most `limit`."""
        found = sorted(rows, key=self._value_order)
        if self.sort is None:
            found = found[::-1] if self.reverse else found
        else:
            found.sort(key=self._number, reverse=not self.reverse)
        return tuple(found[: self.limit])

    def _value_order(self, row: "FacetRow") -> tuple[tuple[bool, int, str], ...]:
        return tuple(
            criterion.definition.order(value)
            for criterion, value in zip(self.by, row.values, strict=True)
        )

    def _number(self, row: "FacetRow") -> float:
        found = row.features.value(self.sort) if self.sort else None
        missing = float("inf") if self.reverse else float("-inf")
        return missing if found is None else found


@dataclass(frozen=True, slots=True)
class FacetRow:
    """A row of a list: a value of each criterion of `by`, and the features of its captures."""

    values: tuple[str, ...]
    features: Features


class AnsweredBy(StrEnum):
    """The way an answer was found."""

    STORED = "stored"  # from combinations that build-facets stored
    COLUMNS = "columns"  # counted from the columns that build-facets wrote
    LIVE = "live"  # counted from the captures index itself
    APPROXIMATE = "approximate"  # estimated live


@dataclass(frozen=True, slots=True)
class FacetAnswer:
    """An answer: the features of the selection, and the rows of the list if requested.

    `found` counts the rows before `limit`, None if only the first were examined.
    """

    question: FacetQuestion
    total: Features
    rows: tuple[FacetRow, ...]
    found: int | None
    answered_by: AnsweredBy
    took_ms: float


def answer_json(answer: FacetAnswer, wanted: Sequence[Feature] = tuple(Feature)) -> dict[str, Any]:
    """Return an answer as in the API and `nwx facets --json`."""
    question = answer.question
    return {
        "where": list(map(str, question.where)),
        "by": [criterion.value for criterion in question.by],
        **features_json(answer.total, wanted),
        "rows": [
            {
                **dict(zip(map(str, question.by), row.values, strict=True)),
                **features_json(row.features, wanted),
            }
            for row in answer.rows
        ],
        "found": answer.found,
        "answered_by": answer.answered_by.value,
        "took_ms": round(answer.took_ms, 3),
    }


def parse_facet_question(
    where: Sequence[str] = (),
    by: str = "",
    sort: str = "",
    features: Sequence[Feature] = (),
    order: str = "",
    limit: int | None = None,
) -> FacetQuestion:
    """Return the question for conditions and a list as written by the user.

    `sort` is a feature or `value`; without it, lists by a criterion with its own order use that
    order, others the first feature. Raises UsageError on invalid values.
    """
    names = tuple(Criterion.named(name) for name in by.split(",") if name.strip())
    if len(names) > MAX_BY or len(set(names)) < len(names):
        raise UsageError.translated(
            "by is %(by)s; name one criterion or two different ones", by=repr(by)
        )
    wanted = _sort(sort, names, features)
    return FacetQuestion(
        where=parse_conditions(where),
        by=names,
        sort=wanted,
        reverse=_is_reverse(order, wanted),
        limit=limit,
    )


def parse_conditions(texts: Sequence[str]) -> tuple[FacetCondition, ...]:
    """Return the conditions in texts; raises UsageError on invalid ones and too many."""
    if len(texts) > MAX_CONDITIONS:
        raise UsageError.translated(
            "%(count)s conditions are given; at most %(most)s are allowed",
            count=len(texts),
            most=MAX_CONDITIONS,
        )
    return tuple(map(parse_condition, texts))


def parse_condition(text: str) -> FacetCondition:
    """Return a condition: `tld=fr,be`, `month=2013-01..2013-12`, `type!=html`.

    Raises UsageError on an invalid one.
    """
    parts = _CONDITION.fullmatch(text)
    if not parts:
        raise UsageError.translated(
            "%(text)s is not a condition; write CRITERION=VALUE or CRITERION!=VALUE",
            text=repr(text[:200]),
        )
    criterion, negated, rest = Criterion.named(parts[1]), parts[2] == "!=", parts[3].strip()
    definition = criterion.definition
    if definition.spans and ".." in rest:
        ends = (end.strip() for end in rest.split("..", 1))
        low, high = (definition.parse_end(end) if end else "" for end in ends)
        if low and not definition.in_span(low, low, high):
            raise UsageError(REVERSED_RANGE)
        return FacetCondition(criterion, low=low, high=high, negated=negated)
    written = [value.replace("\\,", ",").strip() for value in _SEPARATOR.split(rest)]
    if not all(written):
        raise UsageError.translated(
            "%(text)s has an empty value; write CRITERION=VALUE,VALUE", text=repr(text[:200])
        )
    values = [one for value in written for one in definition.parse(value)]
    if len(values) > MAX_CONDITION_VALUES:
        raise UsageError.translated(
            "%(criterion)s has %(count)s values; at most %(most)s are allowed",
            criterion=criterion,
            count=len(values),
            most=MAX_CONDITION_VALUES,
        )
    return FacetCondition(criterion, tuple(dict.fromkeys(values)), negated=negated)


def _sort(text: str, by: Sequence[Criterion], features: Sequence[Feature]) -> Feature | None:
    if text:
        return None if text == "value" else parse_feature(text)
    if by and all(criterion.definition.ordinal for criterion in by):
        return None
    return features[0] if features else Feature.CAPTURES


def _is_reverse(order: str, sort: Feature | None) -> bool:
    if order not in ("", "asc", "desc"):
        raise UsageError.translated("order is %(order)s; write asc or desc", order=repr(order[:80]))
    return bool(order) and (order == "desc") == (sort is None)
