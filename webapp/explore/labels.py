"""Criteria, conditions, values and features as people read them."""

from dataclasses import dataclass, replace

from flask_babel import LazyString, gettext, lazy_gettext

from nwx.facets.criteria import Criterion, whole_years
from nwx.facets.question import (
    FEATURES,
    AnsweredBy,
    DescribedFeature,
    FacetCondition,
    Feature,
    Features,
)
from webapp.explore.answers import Line
from webapp.site import words
from webapp.site.preferences import page_locale

CRITERION_LABELS: dict[Criterion, LazyString] = {
    Criterion.MONTH: lazy_gettext("Month"),
    Criterion.YEAR: lazy_gettext("Year"),
    Criterion.STATUS: lazy_gettext("Status"),
    Criterion.SITE: lazy_gettext("Site"),
    Criterion.TYPE: lazy_gettext("Type"),
    Criterion.TLD: lazy_gettext("TLD"),
    Criterion.SIZE: lazy_gettext("Size"),
    Criterion.DEPTH: lazy_gettext("Depth"),
    Criterion.COLLECTION: lazy_gettext("Collection"),
}

FEATURE_WORDS: dict[Feature, tuple[LazyString, LazyString]] = {
    Feature.CAPTURES: (
        lazy_gettext("Captures"),
        lazy_gettext("archived exchanges, revisits included"),
    ),
    Feature.UNIQUE_DOCUMENTS: (
        lazy_gettext("Unique documents"),
        lazy_gettext("different payloads, by their digest"),
    ),
    Feature.UNIQUE_URLS: (lazy_gettext("Unique URLs"), lazy_gettext("different URLs")),
    Feature.BYTES: (
        lazy_gettext("Bytes"),
        lazy_gettext("bytes of the payloads of all captures"),
    ),
    Feature.UNIQUE_BYTES: (
        lazy_gettext("Unique bytes"),
        lazy_gettext("bytes of the unique documents, each once"),
    ),
    Feature.AVERAGE_SIZE: (
        lazy_gettext("Average size"),
        lazy_gettext("unique bytes a unique URL, as FacetRedux has it"),
    ),
    Feature.AVERAGE_DOCUMENT_SIZE: (
        lazy_gettext("Average document"),
        lazy_gettext("unique bytes a unique document"),
    ),
    Feature.DUPLICATION_RATIO: (
        lazy_gettext("Duplication ratio"),
        lazy_gettext("bytes over unique bytes"),
    ),
}
"""The title and the description of each feature."""


@dataclass(frozen=True, slots=True)
class NamedCriterion:
    """A criterion as people read it."""

    label: str


def described_feature(feature: Feature) -> DescribedFeature:
    """Return a feature with its title and description in the language of the page."""
    title, description = FEATURE_WORDS[feature]
    return replace(FEATURES[feature], title=str(title), description=str(description))


MOST_NAMED = 4
"""So many values of a condition are told; of the others, how many there are."""

WAYS = {
    AnsweredBy.STORED: lazy_gettext("from stored combinations"),
    AnsweredBy.COLUMNS: lazy_gettext("from columns"),
    AnsweredBy.LIVE: lazy_gettext("counted live"),
    AnsweredBy.APPROXIMATE: lazy_gettext("estimated"),
}


def label_of(where: tuple[FacetCondition, ...]) -> str:
    """Return conditions in a few words."""
    return ", ".join(f"{CRITERION_LABELS[own.criterion]} {value_labels(own)}" for own in where)


def value_labels(condition: FacetCondition) -> str:
    """Return what a condition asks for."""
    if condition.is_span:
        told = f"{condition.low or '…'} – {condition.high or '…'}"
    else:
        values = whole_years(condition.values)
        more = len(values) - MOST_NAMED
        told = ", ".join(map(readable, values[:MOST_NAMED])) + (f" + {more}" if more > 0 else "")
    return gettext("not %(values)s", values=told) if condition.negated else told


def readable(value: str) -> str:
    """Return a value without the underscore that names in addresses have."""
    return value.replace("_", " ") if value in ("request_error", "server_error") else value


def number_label(features: Features | None, feature: Feature) -> str:
    """Return a feature with its unit, "" where there is none."""
    value = features.value(feature) if features else None
    if value is None:
        return ""
    unit = FEATURES[feature].unit
    if unit == "bytes":
        return words.size(round(value))
    return words.decimal(value) if unit == "ratio" else words.grouped(round(value))


def ratio(line: Line, feature: Feature) -> str:
    """Return how many times the first selection is the second, "" where one has nothing."""
    first, second = (cell.value(feature) if cell else None for cell in line.cells)
    return words.decimal(first / second) if first is not None and second else ""


def in_sentence(title: str) -> str:
    """Return a title as it stands within a sentence: `month`, but `TLD`, and in German `Monat`."""
    if page_locale().language == "de":
        return title
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]
