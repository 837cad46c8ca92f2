"""Words, lemmas and closed classes."""

import pytest

from nwx.steering.analysis.language.lemmas import lemmas_of, word_pattern


@pytest.mark.parametrize(
    ("language", "word", "lemma"),
    [
        ("en", "Elections", "election"),
        ("de", "Häusern", "haus"),
        ("fr", "élections", "election"),
        ("xx", "Élections", "elections"),
        ("", "Words", "words"),
    ],
)
def test_lemmas_are_without_case_and_accents(language: str, word: str, lemma: str) -> None:
    assert lemmas_of(language).of(word) == lemma


def test_articles_and_forms_of_auxiliaries_are_closed_classes() -> None:
    lemmas = lemmas_of("en")
    assert {lemmas.of(word) for word in ("the", "were", "with")} <= lemmas.closed
    assert lemmas.of("river") not in lemmas.closed


def test_a_word_of_a_megabyte_is_cut() -> None:
    assert len(lemmas_of("de").of("ä" * 1_000_000)) == 40


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("It's well-known_to 3 dogs", ["It", "s", "well", "known", "to", "3", "dogs"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("東京 tower", ["東", "京", "tower"]),
    ],
)
def test_words_are_runs_of_letters_and_digits(text: str, words: list[str]) -> None:
    assert word_pattern(text).findall(text) == words
