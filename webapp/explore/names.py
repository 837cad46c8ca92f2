"""What criteria and features are called in the language of the page.

The words are those of `nwx.facets`, which a test compares with them.
"""

from dataclasses import dataclass, replace

from flask_babel import LazyString, lazy_gettext

from nwx.facets.criteria import Criterion
from nwx.facets.question import FEATURES, DescribedFeature, Feature

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
