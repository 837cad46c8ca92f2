"""Text without case and accents, and its positions in the original."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.steering.analysis.lemmas import (
    MOST_MATCHES,
    LetterMatcher,
    fold_text,
    folded_text,
    lemmas_of,
    word_pattern,
)


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("Élysée", "elysee"),
        ("Straße", "strasse"),
        ("Æther", "aether"),
        ("Łódź Øre", "lodz ore"),
        ("İstanbul", "istanbul"),
        ("Ёлка", "елка"),
        ("Ὀδυσσεύς", "οδυσσευσ"),
        ("ＡＢＣ", "abc"),
        ("أحمد", "احمد"),
        ("がぎ 한국 हिन्दी", "がぎ 한국 हिन्दी"),
    ],
)
def test_case_and_accents_are_left_out(text: str, folded: str) -> None:
    assert fold_text(text) == folded


def test_many_different_letters_are_folded_as_few_are() -> None:
    letters = "".join(map(chr, range(0xC0, 0x250)))
    assert fold_text(letters) == "".join(map(fold_text, letters))


def test_places_are_those_of_the_original() -> None:
    text = "Große Straße"
    folded = folded_text(text)
    assert text[folded.place(folded.text.index("strasse")) :] == "Straße"


@given(st.text(alphabet="aßÉœ 京", max_size=30))
def test_every_place_has_a_letter_of_the_original(text: str) -> None:
    folded = folded_text(text)
    places = [folded.place(index) for index in range(len(folded.text))]
    assert places == sorted(places)
    assert all(
        fold_text(text[place]).find(letter) >= 0
        for place, letter in zip(places, folded.text, strict=True)
    )


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
    assert lemmas_of(language).lemma_of(word) == lemma


def test_articles_and_forms_of_auxiliaries_are_closed_classes() -> None:
    lemmas = lemmas_of("en")
    assert {lemmas.lemma_of(word) for word in ("the", "were", "with")} <= lemmas.closed
    assert lemmas.lemma_of("river") not in lemmas.closed


def test_a_word_of_a_megabyte_is_cut() -> None:
    assert len(lemmas_of("de").lemma_of("ä" * 1_000_000)) == 40


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


NAMES = st.text(alphabet="aé b", min_size=1, max_size=4).filter(str.strip)


def test_without_names_nothing_is_found() -> None:
    assert LetterMatcher([]).matches("text") == []
    assert LetterMatcher([("  ", 1)]).matches("text") == []


def test_matches_are_bounded() -> None:
    assert len(LetterMatcher([("a", 1)]).matches("a " * 100_000)) == MOST_MATCHES


@given(st.lists(NAMES, min_size=1, max_size=4), st.text(alphabet="aéAb ", max_size=40))
def test_a_name_is_found_where_an_expression_finds_it(names: list[str], text: str) -> None:
    plain = {fold_text(" ".join(name.split())): number for number, name in enumerate(names[::-1])}
    longest = sorted(plain, key=len, reverse=True)
    expression = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, longest))})(?!\w)")
    expected = [
        (match[0], match.start(), match.end()) for match in expression.finditer(fold_text(text))
    ]
    found = LetterMatcher((name, plain[name]) for name in plain).matches(text)
    by_number = {number: name for name, number in plain.items()}
    assert [(by_number[number], first, end) for number, first, end in found] == expected
