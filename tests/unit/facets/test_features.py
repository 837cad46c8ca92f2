"""Features: their names, and those that are computed from others."""

import pytest

from nwx.errors import UsageError
from nwx.facets.features import STORED_FEATURES, Feature, Features, features_json, parse_features


def test_lists_of_features() -> None:
    assert parse_features("bytes, captures,bytes") == (Feature.BYTES, Feature.CAPTURES)
    assert parse_features("") == tuple(Feature)
    with pytest.raises(UsageError):
        parse_features("weight")


def test_computed_features() -> None:
    found = Features(captures=9, unique_documents=4, unique_urls=2, bytes=300, unique_bytes=100)
    assert (found.average_size, found.average_document_size) == (50, 25)
    assert found.duplication_ratio == 3
    assert features_json(found, (Feature.BYTES, Feature.AVERAGE_SIZE)) == {
        "bytes": 300,
        "average_size": 50,
    }


def test_nothing_is_divided_by_nothing() -> None:
    names = set(Feature) - set(STORED_FEATURES)
    assert {Features().value(Feature(name)) for name in names} == {None}
    assert {Features().value(Feature(name)) for name in STORED_FEATURES} == {0}
