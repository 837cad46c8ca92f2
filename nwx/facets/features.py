"""What can be asked of a selection of captures."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from nwx.errors import ErrorText, UsageError


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
"""The names of the features that are counted and stored; the others are computed from them."""


def parse_features(text: str) -> tuple[Feature, ...]:
    """Return the features of a list with commas between, all of an empty one.

    Raises UsageError on a name that is none.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    return tuple(map(parse_feature, dict.fromkeys(names))) or tuple(Feature)


def parse_feature(text: str) -> Feature:
    """Return the feature of a name; raises UsageError where there is none."""
    if text not in set(Feature):
        raise UsageError(
            ErrorText(
                "there is no feature %(text)s; use %(choices)s",
                text=repr(text[:80]),
                choices=", ".join(Feature),
            )
        )
    return Feature(text)


def features_json(features: Features, wanted: Sequence[Feature] = tuple(Feature)) -> dict[str, Any]:
    """Return features by name."""
    return {feature.value: features.value(feature) for feature in wanted}
