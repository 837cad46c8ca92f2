"""The language model that every installation has: lemmas by dictionaries, names by rules."""

from nwx.steering.analysis.language.dates import dates_in
from nwx.steering.analysis.language.gazetteer import Gazetteer
from nwx.steering.analysis.language.language_model import LanguageModel, Name, TextReading
from nwx.steering.analysis.language.lemmas import lemmas_of, word_pattern
from nwx.steering.analysis.language.names import names_in


class DictionaryModel(LanguageModel):
    """Lemmas by the dictionaries of simplemma; words themselves in languages without one."""

    def __init__(self, gazetteer: Gazetteer | None = None) -> None:
        self._gazetteer = gazetteer

    def read(self, text: str, language: str) -> TextReading:
        lemmas = lemmas_of(language)
        pieces = word_pattern(text).split(text)
        return TextReading(pieces, list(map(lemmas.of, pieces[1::2])), lemmas.closed)

    def names(self, text: str, reading: TextReading, language: str) -> list[Name]:
        places = self._gazetteer.places_in(text) if self._gazetteer else []
        return [*names_in(reading, language), *dates_in(reading), *places]
