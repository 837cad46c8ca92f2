"""The language model that every installation has: lemmas by dictionaries, names by rules."""

from nwx.steering.analysis.language.language_model import LanguageModel, Name, TextReading
from nwx.steering.analysis.language.lemmas import lemmas_of, word_pattern


class DictionaryModel(LanguageModel):
    """Lemmas by the dictionaries of simplemma; words themselves in languages without one."""

    def read(self, text: str, language: str) -> TextReading:
        lemmas = lemmas_of(language)
        pieces = word_pattern(text).split(text)
        return TextReading(pieces, list(map(lemmas.of, pieces[1::2])), lemmas.closed)

    def names(self, text: str, language: str) -> list[Name]:
        return []
