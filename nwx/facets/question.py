"""Questions about how much there is, and their answers."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from nwx.facets.criteria import Criterion


class Feature(StrEnum):
    """What can be asked of a selection of captures."""

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
    """A feature for people; `unit` is `count`, `bytes` or `ratio`."""

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
        "Average size", "unique bytes a unique URL, as FacetRedux has it", "bytes"
    ),
    Feature.AVERAGE_DOCUMENT_SIZE: DescribedFeature(
        "Average document", "unique bytes a unique document", "bytes"
    ),
    Feature.DUPLICATION_RATIO: DescribedFeature(
        "Duplication ratio", "bytes over unique bytes", "ratio"
    ),
}


@dataclass(frozen=True, slots=True)
class Features:
    """What a selection of captures holds; all counts are exact unless the answer says otherwise."""

    captures: int = 0
    unique_documents: int = 0
    unique_urls: int = 0
    bytes: int = 0
    unique_bytes: int = 0

    @property
    def average_size(self) -> float | None:
        """The bytes of the unique documents over the unique URLs, None of nothing."""
        return self.unique_bytes / self.unique_urls if self.unique_urls else None

    @property
    def average_document_size(self) -> float | None:
        """The bytes of the unique documents over their number, None of nothing."""
        return self.unique_bytes / self.unique_documents if self.unique_documents else None

    @property
    def duplication_ratio(self) -> float | None:
        """The bytes of all captures over those of the unique documents, None of no bytes."""
        return self.bytes / self.unique_bytes if self.unique_bytes else None

    def value(self, feature: Feature) -> int | float | None:
        """Return one of the features."""
        found: int | float | None = getattr(self, feature.value)
        return found


STORED_FEATURES = tuple(feature.name for feature in fields(Features))
"""The names of the features that are counted; the others are worked out from them."""


@dataclass(frozen=True, slots=True)
class FacetCondition:
    """What a criterion must be: one of `values`, or in the span `low` to `high`, or not so.

    Spans include both ends; "" is open. The unknown is in no span.
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


@dataclass(frozen=True, slots=True)
class FacetQuestion:
    """A question: the features of the captures that meet all conditions.

    With `by`, one or two criteria, also those of each of their values: in
    the order of the feature `sort`, the highest first, or where `sort` is
    None in the order of the values; `reverse` turns that around. `limit`
    cuts the list, None does not.
    """

    where: tuple[FacetCondition, ...] = ()
    by: tuple[Criterion, ...] = ()
    sort: Feature | None = None
    reverse: bool = False
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class FacetRow:
    """A line of a list: a value of each criterion of `by`, and what has them."""

    values: tuple[str, ...]
    features: Features


class AnsweredBy(StrEnum):
    """The way an answer was found."""

    STORED = "stored"  # from combinations that build-facets stored
    COLUMNS = "columns"  # counted from the columns that build-facets wrote
    LIVE = "live"  # counted from the captures index itself
    APPROXIMATE = "approximate"  # live, and estimated


@dataclass(frozen=True, slots=True)
class FacetAnswer:
    """An answer: the features of the selection, and the rows of the list where one was asked for.

    `found` counts the rows before `limit`, None where only the first were looked at.
    """

    question: FacetQuestion
    total: Features
    rows: tuple[FacetRow, ...]
    found: int | None
    answered_by: AnsweredBy
    took_ms: float


def features_json(features: Features, wanted: Sequence[Feature] = tuple(Feature)) -> dict[str, Any]:
    """Return features by name."""
    return {feature.value: features.value(feature) for feature in wanted}


def answer_json(answer: FacetAnswer, wanted: Sequence[Feature] = tuple(Feature)) -> dict[str, Any]:
    """Return an answer as the API and `nwx facets --json` give it."""
    question = answer.question
    return {
        "where": [condition_text(condition) for condition in question.where],
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


def condition_text(condition: FacetCondition) -> str:
    """Return a condition as people write it: `tld=fr,be`, `month=2013-01..2013-12`."""
    if condition.is_span:
        wanted = f"{condition.low}..{condition.high}"
    else:
        wanted = ",".join(value.replace(",", "\\,") for value in condition.values)
    return f"{condition.criterion}{'!=' if condition.negated else '='}{wanted}"
