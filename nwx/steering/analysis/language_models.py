"""Language models: dictionaries, gazetteers and spaCy."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nwx.errors import UsageError
from nwx.steering.analysis.lemmas import LetterMatcher, fold_text, lemmas_of, word_pattern
from nwx.steering.analysis.names import (
    LanguageModel,
    Name,
    NameKind,
    TextReading,
    dates_in,
    names_in,
)

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc


LARGEST_GAZETTEER = 1_000_000
"""Names read of a gazetteer; the rest is ignored."""

_SHORTEST = 3  # characters; shorter names are words of other languages
_COLUMNS = 4  # fewest of a GeoNames table


class Gazetteer:
    """Place names; matched if they begin with a capital or their script has no capitals."""

    def __init__(self, lines: Iterable[str]) -> None:
        """Read one place a line, or a GeoNames table; `#` begins a comment."""
        self._names = list(_places(lines))
        self._matcher = LetterMatcher((name, place) for place, name in enumerate(self._names))

    def __len__(self) -> int:
        """Return the number of names."""
        return len(self._names)

    def places_in(self, text: str) -> list[Name]:
        """Return the places in a text, named as in the gazetteer."""
        return [
            Name(self._names[number], NameKind.PLACE, first)
            for number, first, _ in self._matcher.matches(text)
            if not text[first].islower()
        ]


def read_gazetteer(path: Path) -> Gazetteer:
    """Return the gazetteer in a file; raises UsageError if it cannot be read."""
    try:
        with path.open(encoding="utf-8", errors="replace") as lines:
            return Gazetteer(lines)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error


def _places(lines: Iterable[str]) -> Iterator[str]:
    count = 0
    for line in lines:
        columns = line.rstrip("\r\n").split("\t")
        is_table = len(columns) >= _COLUMNS and columns[0].isdecimal()
        name = columns[1] if is_table else columns[0].partition("#")[0]
        name = name.strip()
        if len(name) < _SHORTEST and name.isascii():
            continue
        yield name
        count += 1
        if count >= LARGEST_GAZETTEER:
            return


class DictionaryModel(LanguageModel):
    """Lemmatises with simplemma; in languages it lacks, words are their own lemmas."""

    def __init__(self, gazetteer: Gazetteer | None = None) -> None:
        self._gazetteer = gazetteer

    def read(self, text: str, language: str) -> TextReading:
        lemmas = lemmas_of(language)
        pieces = word_pattern(text).split(text)
        return TextReading(pieces, list(map(lemmas.lemma_of, pieces[1::2])), lemmas.closed)

    def names(self, text: str, reading: TextReading, language: str) -> list[Name]:
        places = self._gazetteer.places_in(text) if self._gazetteer else []
        return [*names_in(reading, language), *dates_in(reading), *places]


MOST_CHARACTERS_READ = 50_000
"""Characters of a text that spaCy reads; it takes a second for some 100,000."""

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
"""Kinds of names by the labels of models; other labels (dates, numbers) are ignored."""
_CLOSED = frozenset({"ADP", "AUX", "CCONJ", "CONJ", "DET", "PART", "PRON", "SCONJ"})


class SpacyModel(LanguageModel):
    """A spaCy pipeline for pages in its language; others are read by dictionaries.

    Dictionaries and rules replace steps missing in the pipeline (lemmas, names).
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
            lemma = fold_text(token.lemma_) or lemmas.lemma_of(token.text)
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
    """Return the spaCy pipeline of a model: an installed package's name, or a folder.

    Raises UsageError if spaCy or the model is not installed.
    """
    try:
        # Imported here: it is an extra, and takes a second to load.
        import spacy
    except ImportError as error:
        raise UsageError(
            "spacy:MODEL needs the package spacy; install it with: pip install 'nwx[spacy]'"
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


def chosen_model(nlp: str = "", gazetteer: Gazetteer | None = None) -> LanguageModel:
    """Return the model for `--nlp`: `spacy:MODEL`, or "" for dictionaries and rules.

    Raises UsageError on an unknown model.
    """
    if not nlp:
        return DictionaryModel(gazetteer)
    kind, _, name = nlp.partition(":")
    if kind != "spacy" or not name:
        raise UsageError(f"nlp is {nlp!r}; write spacy:MODEL, as in spacy:en_core_web_sm")
    return SpacyModel(load_spacy(name), gazetteer)
