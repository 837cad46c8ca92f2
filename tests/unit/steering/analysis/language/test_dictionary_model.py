"""Texts read by dictionaries."""

from nwx.steering.analysis.language.dictionary_model import DictionaryModel


def test_a_reading_has_places_and_lemmas_of_all_words() -> None:
    text = "The rivers fell."
    reading = DictionaryModel().read(text, "en")
    spans = [reading.span(index) for index in range(3)]
    assert [text[first:last] for first, last in spans] == ["The", "rivers", "fell"]
    assert list(reading.lemmas) == ["the", "river", "fall"]
    assert "the" in reading.closed
