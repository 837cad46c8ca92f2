"""Places from a gazetteer."""

import sys
from collections.abc import Sequence
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from nwx.errors import UsageError
from nwx.steering.analysis.language_models import (
    DictionaryModel,
    Gazetteer,
    SpacyModel,
    chosen_model,
    load_spacy,
)

TABLE = "1\tMünchen\tMunchen\tMunich"


def test_places_are_found_in_lists_and_tables() -> None:
    gazetteer = Gazetteer(
        [
            "Dresden\n",
            "# a comment",
            "Ulm # on the Danube",
            "東京",
            "Io",
            "1\tMünchen\tMunchen\tMunich",
        ]
    )
    assert len(gazetteer) == 4
    text = "From Dresden and MÜNCHEN to Ulm, ulm and Dresdens 東京都"
    assert [(place.text, place.kind) for place in gazetteer.places_in(text)] == [
        ("Dresden", "place"),
        ("München", "place"),
        ("Ulm", "place"),
        ("東京", "place"),
    ]


def test_a_reading_has_places_and_lemmas_of_all_words() -> None:
    text = "The rivers fell."
    reading = DictionaryModel().read(text, "en")
    spans = [reading.span(index) for index in range(3)]
    assert [text[first:last] for first, last in spans] == ["The", "rivers", "fell"]
    assert list(reading.lemmas) == ["the", "river", "fall"]
    assert "the" in reading.closed


LEMMAS = {"waters": ("water", "NOUN"), "rose": ("rise", "VERB"), "The": ("the", "DET")}


class Pipeline:
    """The part of a spaCy pipeline used by `SpacyModel`, with five known words and a name."""

    lang = "en"

    def __init__(self, pipe_names: Sequence[str]) -> None:
        self.pipe_names = pipe_names

    def __call__(self, text: str) -> Any:
        tokens = []
        place = 0
        for word in text.replace(".", " .").split():
            place = text.index(word, place)
            lemma, part = LEMMAS.get(word, ("", ""))
            tokens.append(SimpleNamespace(text=word, idx=place, lemma_=lemma, pos_=part))
            place += len(word)
        start = text.find("Jane Doe")
        entity = SimpleNamespace(text="Jane Doe", label_="PERSON", start_char=start)
        number = SimpleNamespace(text="five", label_="CARDINAL", start_char=0)
        document = Document(tokens)
        document.text = text
        document.ents = [entity, number] if start >= 0 else []
        return document


class Document(list[Any]):
    """Tokens with their text and entities."""

    text: str
    ents: list[Any]


TEXT = "The waters rose on 12 August 2002. Mr. Roe saw Jane Doe and rivers."


def model(*pipe_names: str) -> SpacyModel:
    pipeline: Any = Pipeline(pipe_names)
    return SpacyModel(pipeline)


def test_lemmas_are_those_of_the_model_or_else_of_dictionaries() -> None:
    reading = model("ner").read(TEXT, "en")
    assert list(reading.lemmas)[:3] == ["the", "water", "rise"]
    assert reading.lemmas[-1] == "river"
    assert "the" in reading.closed
    spans = [reading.span(index) for index in range(len(reading.lemmas))]
    assert [TEXT[first:last] for first, last in spans] == TEXT.replace(".", "").split()


def test_names_are_those_of_the_model_and_dates() -> None:
    spacy = model("ner")
    names = spacy.names(TEXT, spacy.read(TEXT, "en"), "en")
    assert [(name.text, name.kind) for name in names] == [
        ("Jane Doe", "person"),
        ("2002-08-12", "date"),
    ]


def test_names_are_found_by_rules_where_the_model_finds_none() -> None:
    spacy = model()
    names = spacy.names(TEXT, spacy.read(TEXT, "en"), "en")
    assert ("Roe", "person") in [(name.text, name.kind) for name in names]


def test_other_languages_are_read_by_dictionaries() -> None:
    spacy = model("ner")
    reading = spacy.read("in den Häusern", "de")
    assert list(reading.lemmas) == ["in", "der", "haus"]
    assert reading.names is None


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(UsageError, match=r"pip install 'nwx\[spacy\]'"):
        load_spacy("en_core_web_sm")


def test_a_missing_model_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str) -> None:
        raise OSError(f"[E050] Can't find model {name!r}")

    spacy = ModuleType("spacy")
    spacy.load = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    with pytest.raises(UsageError, match="spacy download xx_none"):
        chosen_model("spacy:xx_none")


def test_dictionaries_are_the_default() -> None:
    assert isinstance(chosen_model(), DictionaryModel)


@pytest.mark.parametrize("nlp", ["spacy", "spacy:", "nltk:x"])
def test_unknown_models_are_refused(nlp: str) -> None:
    with pytest.raises(UsageError, match="write spacy:MODEL"):
        chosen_model(nlp)
