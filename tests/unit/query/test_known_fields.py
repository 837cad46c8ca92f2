"""Fields with a part in every query are those of documents, or are joined."""

from nwx.mappings import properties
from nwx.model import IndexName
from nwx.query.known_fields import (
    CAPTURE_FIELDS,
    DEFAULT_FIELDS,
    FACET_FIELDS,
    FILTERS,
    JOINED_FIELDS,
)

STORED = set(properties(IndexName.DOCUMENTS))


def test_documents_have_what_is_looked_up_and_counted() -> None:
    assert {*DEFAULT_FIELDS, *CAPTURE_FIELDS, *FACET_FIELDS} - {"year"} <= STORED
    assert not STORED & set(JOINED_FIELDS)


def test_filters_are_facets() -> None:
    assert set(FILTERS.values()) <= set(FACET_FIELDS)
