"""Words and lemmas by dictionaries, without regard to case and accents."""

import re
from collections.abc import Callable
from functools import cache

from nwx.steering.analysis.language.closed_words import CLOSED_WORDS
from nwx.steering.analysis.language.folded_text import fold_text

_LONGEST_WORD = 40  # characters, beyond which no dictionary has a word
_MOST_KNOWN = 100_000  # words of a language whose lemmas are kept

# Thai, Lao, Burmese, Khmer, Chinese, Japanese: words are written without spaces.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
)
"""The scripts without spaces between words, as ranges of a regular expression."""

# Vowels and other marks within words that are no letters to Python.
_MARKS = (
    "\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
    "\u200c\u200d"
)
_SIMPLE = re.compile(r"([^\W_]+)")
_WORD = re.compile(rf"((?:[^\W_{UNSPACED}]|[{_MARKS}])+|[{UNSPACED}])")
_UNSPACED = re.compile(f"[{UNSPACED}]")
_OTHER_SCRIPTS = re.compile(f"[{UNSPACED}{_MARKS}]")


def has_unspaced(text: str) -> bool:
    """Return whether a text has letters of a script without spaces between words."""
    return _UNSPACED.search(text) is not None


def word_pattern(text: str) -> re.Pattern[str]:
    """Return what finds the words of a text; each character is one in scripts without spaces."""
    return _SIMPLE if text.isascii() or not _OTHER_SCRIPTS.search(text) else _WORD


class Lemmas:
    """The lemmas of the words of one language, and the closed classes among them.

    `of` returns the lemma of a word, folded; the word itself where none is known.
    """

    def __init__(self, language: str) -> None:
        self.of: Callable[[str], str] = _Known(_lemmatizer(language)).__getitem__
        words = CLOSED_WORDS.get(language, "").split()
        self.closed = frozenset((*map(fold_text, words), *map(self.of, words)))


class _Known(dict[str, str]):
    """Lemmas by word, looked up once; a dictionary is asked five times as fast as a function."""

    def __init__(self, lemma: Callable[[str], str]) -> None:
        super().__init__()
        self._lemma = lemma

    def __missing__(self, word: str) -> str:
        if len(self) >= _MOST_KNOWN:
            self.clear()
        is_long = len(word) > _LONGEST_WORD
        found = fold_text(word[:_LONGEST_WORD] if is_long else self._lemma(word))
        if not is_long:
            self[word] = found
        return found


@cache
def lemmas_of(language: str) -> Lemmas:
    """Return the lemmas of a language; words themselves where there is no dictionary for it."""
    return Lemmas(language)


def _lemmatizer(language: str) -> Callable[[str], str]:
    # Imported here: the dictionaries take a while to load.
    from simplemma import lemmatize
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    if language not in SUPPORTED_LANGUAGES:
        return str
    return lambda word: lemmatize(word, language)
