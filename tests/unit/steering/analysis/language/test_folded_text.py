"""Text without case and accents, and where its places are in the original."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.steering.analysis.language.folded_text import fold_text, folded_text


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
