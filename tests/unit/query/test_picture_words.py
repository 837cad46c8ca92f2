"""Words about pictures, and queries of them."""

import pytest

from nwx.errors import QueryError
from nwx.query.picture_words import (
    FieldCondition,
    PictureQuery,
    picture_words,
    resolve_picture_query,
)
from nwx.query.tree import Bool, Phrase, Wildcard


def test_words_are_lower_case_without_accents_and_signs_stand_alone() -> None:
    assert picture_words("São_Paulo-2010, STRASSE straße") == [
        *("sao", "paulo", "2010", "strasse", "strasse")
    ]
    assert picture_words("東京 tower塔") == ["東", "京", "tower", "塔"]
    assert picture_words("... !?") == []
    assert picture_words("x" * 500) == ["x" * 100]


def test_a_query_is_words_and_conditions() -> None:
    assert resolve_picture_query("") == PictureQuery(None)
    assert resolve_picture_query("...") == PictureQuery(None)
    assert resolve_picture_query('"Old Town" host:a.org') == PictureQuery(
        Phrase("", "old town"), (FieldCondition("host", "a.org"),)
    )
    assert resolve_picture_query("flow* -domain:a.org") == PictureQuery(
        Wildcard("", "flow*"), (FieldCondition("domain", "a.org", is_not=True),)
    )
    assert resolve_picture_query("a^2 OR title:b").words == Bool(
        should=(Phrase("", "a"), Phrase("", "b"))
    )


@pytest.mark.parametrize("query", ["fl?w", "*ow", "url:x", "a OR host:b", "roam~", "date:2010"])
def test_what_pictures_cannot_be_asked_is_refused(query: str) -> None:
    with pytest.raises(QueryError):
        resolve_picture_query(query)
