"""Words near each other: what Lucene's sloppy phrases match."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.engine.embedded.documents.near import are_near, is_plain, stand_near

# As Lucene 10.3.1 answers.
AS_LUCENE = [
    ("b b", 1, "b e d a d a d", False),
    ("b b", 1, "b e b", True),
    ("c b e", 1, "c a b b e b a b", False),
    ("c b e", 1, "b d a d e c e b", False),
    ("b e a d", 1, "b a e a d b a a", True),
    ("b a e", 2, "b d c e a b b b", False),
    ("e c e d", 3, "e e d c e", True),
    ("a b", 1, "b a", False),
    ("a b", 2, "b a", True),
    ("b e e d", 4, "e d b c e", True),
]


@pytest.mark.parametrize(("phrase", "slop", "text", "expected"), AS_LUCENE)
def test_near_is_what_lucene_means(phrase: str, slop: int, text: str, expected: bool) -> None:
    assert are_near(phrase.split(), [text], slop) is expected


def test_texts_of_a_field_stand_apart() -> None:
    assert are_near(["a", "b", "c"], ["a b", "c"], 100)
    assert not are_near(["a", "b", "c"], ["a b", "c"], 99)


def test_only_some_phrases_are_left_to_tantivy() -> None:
    assert is_plain(["a", "b", "c"], 0)
    assert is_plain(["a", "b"], 3)
    assert not is_plain(["a", "a"], 1)
    assert not is_plain(["a", "b", "c"], 1)


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
