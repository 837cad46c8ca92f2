"""Words near each other, by the places where they stand."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from nwx.query.words import most_edits, nearest_words, stand_near

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
