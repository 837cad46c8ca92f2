"""Words near each other: what Lucene's sloppy phrases match."""

import pytest

from nwx.engine.embedded.documents.matches.near import are_near, is_plain

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
