"""Words near each other, by the places where they stand."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from nwx.query.nearness import stand_near

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
