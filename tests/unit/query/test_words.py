"""Words near each other, by their positions."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.errors import QueryError
from nwx.query.tree import Bool, Phrase, Wildcard
from nwx.query.words import (
    FieldCondition,
    PictureQuery,
    most_edits,
    nearest_words,
    picture_words,
    resolve_picture_query,
    stand_near,
)

_WORDS = st.lists(st.sampled_from("abc"), min_size=1, max_size=4)


@given(_WORDS, st.lists(st.sampled_from("abcd"), max_size=8), st.integers(0, 4))
def test_every_way_to_place_the_words_is_tried(
    words: list[str], text: list[str], slop: int
) -> None:
    places = {word: [n for n, one in enumerate(text) if one == word] for word in words}
    expected = any(
        len(set(chosen)) == len(chosen)
        and max(moves := [place - n for n, place in enumerate(chosen)]) - min(moves) <= slop
        for chosen in product(*(places[word] for word in words))
    )
    assert stand_near(words, places, slop) is expected


def test_long_words_may_differ_more() -> None:
    assert [most_edits(word) for word in ("ark", "arch", "archi", "archiv")] == [0, 1, 1, 2]


def test_the_nearest_then_the_most_frequent_come_first() -> None:
    found = [("museum", 3), ("musuem", 9), ("muesum", 0), ("mausoleum", 50), ("museums", 9)]
    assert nearest_words("museun", found, 5) == ["museum", "museums", "musuem"]
    assert nearest_words("museum", found, 1) == ["museums"]


def test_a_word_is_not_like_itself_and_short_ones_like_none() -> None:
    assert nearest_words("archive", [("archive", 5)], 5) == []
    assert nearest_words("ark", [("arc", 5)], 5) == []


def test_the_highest_number_of_several_fields_counts() -> None:
    found = [("quarry", 1), ("quarrel", 3), ("quarry", 7)]
    assert nearest_words("quarre", found, 5) == ["quarry", "quarrel"]


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


def test_a_refused_field_is_named_as_in_queries() -> None:
    with pytest.raises(QueryError, match="the field type cannot be used for pictures"):
        resolve_picture_query("type:pdf")
