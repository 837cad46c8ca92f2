"""The fields allowed in queries."""

import pytest

from nwx.mappings import properties
from nwx.model import IndexName
from nwx.query.fields import (
    ALIASES,
    CAPTURE_FIELDS,
    DEFAULT_FIELDS,
    FACET_FIELDS,
    FILTERS,
    JOINED_FIELDS,
    QueryFieldKind,
    kind,
    normal_value,
    resolve_field,
    suggestion,
)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("title", "title"),
        ("SITE", "domain"),
        ("type", "content_type_norm"),
        ("year", "date"),
        ("dates", "date"),
        ("colour", None),
    ],
)
def test_a_name_is_resolved(name: str, field: str | None) -> None:
    assert resolve_field(name) == field


def test_every_alias_leads_to_a_field() -> None:
    assert all(resolve_field(name) == field for name, field in ALIASES.items())


@pytest.mark.parametrize(
    ("field", "expected"),
    [
        ("", QueryFieldKind.TEXT),
        ("title", QueryFieldKind.TEXT),
        ("host", QueryFieldKind.KEYWORD),
        ("status_code", QueryFieldKind.NUMBER),
    ],
)
def test_what_a_field_is(field: str, expected: QueryFieldKind) -> None:
    assert kind(field) is expected


def test_values_are_written_as_their_field_has_them() -> None:
    assert normal_value("host", "WWW.Example.ORG") == "www.example.org"
    assert normal_value("host", "B\u00fccher.Example") == "xn--bcher-kva.example"
    assert normal_value("title", "Pra\u0301va") == "Pr\u00e1va"
    assert normal_value("url", "http://a.example/A") == "http://a.example/A"


def test_a_mistyped_name_gets_a_suggestion() -> None:
    assert suggestion("titel") == "title"
    assert suggestion("qqqqqq") == ""


STORED = set(properties(IndexName.DOCUMENTS))


def test_documents_have_what_is_looked_up_and_counted() -> None:
    assert {*DEFAULT_FIELDS, *CAPTURE_FIELDS, *FACET_FIELDS} - {"year"} <= STORED
    assert not STORED & set(JOINED_FIELDS)


def test_filters_are_facets() -> None:
    assert set(FILTERS.values()) <= set(FACET_FIELDS)
