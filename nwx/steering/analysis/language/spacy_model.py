"""Lemmas and names by a spaCy model that the user has (extra `spacy`)."""

from typing import TYPE_CHECKING, Any

from nwx.errors import UsageError
from nwx.steering.analysis.language.dates import dates_in
from nwx.steering.analysis.language.dictionary_model import DictionaryModel
from nwx.steering.analysis.language.folded_text import fold_text
from nwx.steering.analysis.language.gazetteer import Gazetteer
from nwx.steering.analysis.language.language_model import (
    LanguageModel,
    Name,
    NameKind,
    TextReading,
)
from nwx.steering.analysis.language.lemmas import lemmas_of

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

MOST_CHARACTERS_READ = 50_000
"""So much of a text is read by spaCy, as it takes a second for some 100,000 characters."""

_LABELS = {
    "PERSON": NameKind.PERSON,
    "PER": NameKind.PERSON,
    "ORG": NameKind.ORGANISATION,
    "GPE": NameKind.PLACE,
    "LOC": NameKind.PLACE,
    "FAC": NameKind.PLACE,
    "EVENT": NameKind.EVENT,
    "MISC": NameKind.OTHER,
    "NORP": NameKind.OTHER,
    "PRODUCT": NameKind.OTHER,
    "WORK_OF_ART": NameKind.OTHER,
    "LAW": NameKind.OTHER,
}
"""Kinds of names by the labels of models; others (dates, numbers) are left out."""
_CLOSED = frozenset({"ADP", "AUX", "CCONJ", "CONJ", "DET", "PART", "PRON", "SCONJ"})


class SpacyModel(LanguageModel):
    """A pipeline of spaCy for pages in its language; others are read by dictionaries.

    What the pipeline does not do (lemmas, names) dictionaries and rules do.
    """

    def __init__(self, pipeline: "Language", gazetteer: Gazetteer | None = None) -> None:
        self._pipeline = pipeline
        self._language: str = pipeline.lang
        self._finds_names = not {"ner", "entity_ruler"}.isdisjoint(pipeline.pipe_names)
        self._gazetteer = gazetteer
        self._dictionaries = DictionaryModel(gazetteer)

    def read(self, text: str, language: str) -> TextReading:
        if language not in ("", self._language):
            return self._dictionaries.read(text, language)
        return self._reading(self._pipeline(text[:MOST_CHARACTERS_READ]))

    def names(self, text: str, reading: TextReading, language: str) -> list[Name]:
        if reading.names is None:
            return self._dictionaries.names(text, reading, language)
        places = self._gazetteer.places_in(text) if self._gazetteer else []
        return [*reading.names, *dates_in(reading), *places]

    def _reading(self, doc: "Doc") -> TextReading:
        lemmas = lemmas_of(self._language)
        pieces: list[str] = []
        found: list[str] = []
        closed: set[str] = set(lemmas.closed)
        end = 0
        for token in doc:
            if not any(map(str.isalnum, token.text)):
                continue
            pieces += (doc.text[end : token.idx], token.text)
            end = token.idx + len(token.text)
            lemma = fold_text(token.lemma_) or lemmas.of(token.text)
            found.append(lemma)
            if token.pos_ in _CLOSED:
                closed.add(lemma)
        pieces.append(doc.text[end:])
        names = self._names(doc) if self._finds_names else None
        return TextReading(pieces, found, frozenset(closed), names)

    def _names(self, doc: "Doc") -> list[Name]:
        return [
            Name(" ".join(entity.text.split()), _LABELS[entity.label_], entity.start_char)
            for entity in doc.ents
            if entity.label_ in _LABELS and entity.text.strip()
        ]


def load_spacy(name: str) -> "Language":
    """Return the pipeline of a model: the name of an installed package, or a folder.

    Raises UsageError where spaCy or the model is not installed.
    """
    try:
        # Imported here: it is an extra, and takes a second to load.
        import spacy
    except ImportError as error:
        raise UsageError(
            "--nlp spacy needs the package spacy; install it with: pip install 'nwx[spacy]'"
        ) from error
    try:
        pipeline: Any = spacy.load(name)
    except (OSError, ValueError, ImportError) as error:
        raise UsageError(
            f"spaCy cannot load the model {name!r};"
            f" install it with: python -m spacy download {name}"
        ) from error
    loaded: Language = pipeline
    return loaded
