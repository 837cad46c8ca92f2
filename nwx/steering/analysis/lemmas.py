"""Folding and lemmatising of words, and matching of names letter by letter."""

import re
import tomllib
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ahocorasick


@dataclass(frozen=True, slots=True)
class WordLists:
    """Word lists, in lower case; `months` has their numbers, others are by role or language."""

    particles: frozenset[str]
    person_titles: frozenset[str]
    organisation_ends: frozenset[str]
    organisation_starts: frozenset[str]
    not_in_compounds: frozenset[str]
    advertisers: frozenset[str]
    months: Mapping[str, int]
    link_roles: Mapping[str, frozenset[str]]
    closed_words: Mapping[str, frozenset[str]]


def _read() -> WordLists:
    found = tomllib.loads(Path(__file__).with_name("word_lists.toml").read_text(encoding="utf-8"))
    months = found.pop("months")
    values: dict[str, Any] = {
        name: {key: frozenset(words.split()) for key, words in value.items()}
        if isinstance(value, dict)
        else frozenset(value.split())
        for name, value in found.items()
    }
    numbers = {name: number for number, names in enumerate(months, 1) for name in names.split()}
    return WordLists(months=numbers, **values)


WORD_LISTS = _read()


_MANY = 48  # distinct letters to replace; with more, `translate` is faster than `replace`
# Scripts whose marks are accents; in others they are vowels or make another letter.
_ACCENTED = ((0xC0, 0x250), (0x370, 0x530), (0x622, 0x6D4), (0x1E00, 0x2000), (0xFF01, 0xFF5F))
_OTHERS = {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "ħ": "h", "ŧ": "t", "ς": "σ", "’": "'"}
_PAIRS = {"ß": "ss", "æ": "ae", "œ": "oe", "ĳ": "ij", "ﬁ": "fi", "ﬂ": "fl"}
_PAIR = re.compile(f"[{''.join(_PAIRS)}]")


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A folded text; `widened` are the positions of letters that folding added."""

    text: str
    widened: tuple[int, ...] = ()

    def place(self, index: int) -> int:
        """Return the position in the original text of the character at `index`."""
        return index - bisect_right(self.widened, index) if self.widened else index


def fold_text(text: str) -> str:
    """Return a text in lower case without accents: `Élysée` is `elysee`, `Straße` `strasse`.

    `text` is in the normal form NFC.
    """
    return folded_text(text).text


def folded_text(text: str) -> FoldedText:
    """Return a text as `fold_text` does, with a mapping of its positions to the original."""
    lowered = text.replace("İ", "I").lower()
    if lowered.isascii():
        return FoldedText(lowered)
    widened = (match.start() + nth + 1 for nth, match in enumerate(_PAIR.finditer(lowered)))
    return FoldedText(_replaced(lowered), tuple(widened))


def _replaced(text: str) -> str:
    table = _table()
    letters = table.keys() & {ord(letter) for letter in set(text)}
    if len(letters) > _MANY:
        return text.translate(table)
    for letter in letters:
        text = text.replace(chr(letter), table[letter])
    return text


@cache
def _table() -> dict[int, str]:
    """Return the replacements of lower-case letters beyond ASCII."""
    table = {ord(letter): other for letter, other in (_OTHERS | _PAIRS).items()}
    for first, last in _ACCENTED:
        for code in range(first, last):
            base = unicodedata.normalize("NFKD", chr(code))[0].lower()
            base = _OTHERS.get(base, base)
            if code not in table and base != chr(code) and base.isalnum() and len(base) == 1:
                table[code] = base
    return table


_LONGEST_WORD = 40  # characters, beyond which no dictionary has a word
_MOST_KNOWN = 100_000  # words of a language whose lemmas are cached

# Thai, Lao, Burmese, Khmer, Chinese, Japanese: words are written without spaces.
UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u9fff\uf900-\ufaff"
)
"""The scripts without spaces between words, as ranges of a regular expression."""

# Vowels and other marks within words that Python does not count as letters.
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
    """Return the pattern of words in a text; in unspaced scripts each character is a word."""
    return _SIMPLE if text.isascii() or not _OTHER_SCRIPTS.search(text) else _WORD


class Lemmas:
    """The lemmas of the words of one language, and its closed word classes.

    `lemma_of` returns the folded lemma of a word, or the word itself if none is known.
    """

    def __init__(self, language: str) -> None:
        self.lemma_of: Callable[[str], str] = _Known(_lemmatizer(language)).__getitem__
        words = WORD_LISTS.closed_words.get(language, frozenset())
        self.closed = frozenset((*map(fold_text, words), *map(self.lemma_of, words)))


class _Known(dict[str, str]):
    """A cache of lemmas by word; a dictionary look-up is five times as fast as a call."""

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
    """Return the lemmas of a language; without a dictionary, each word is its own lemma."""
    return Lemmas(language)


def _lemmatizer(language: str) -> Callable[[str], str]:
    # Imported here: the dictionaries take a while to load.
    from simplemma import lemmatize
    from simplemma.strategies.dictionaries.dictionary_factory import SUPPORTED_LANGUAGES

    if language not in SUPPORTED_LANGUAGES:
        return str
    return lambda word: lemmatize(word, language)


MOST_MATCHES = 20_000
"""Matches in one text; the rest is not searched."""

_LONGEST_NAME = 200  # characters


class LetterMatcher:
    """Finds names in a text in one pass (Aho-Corasick), and returns their values.

    If a name has several values, the first counts. In scripts without spaces between words, a name
    is also found inside others.
    """

    def __init__(self, names: Iterable[tuple[str, int]]) -> None:
        self._automaton = _automaton(names)

    def matches(self, text: str) -> list[tuple[int, int, int]]:
        """Return the value, start and end of each match, in order.

        Of overlapping names the first counts; of names that begin at the same position, the
        longest.
        """
        if self._automaton is None:
            return []
        folded = folded_text(text.replace("\n", " "))
        candidates = []
        for last, (number, length) in self._automaton.iter(folded.text):
            first = last + 1 - length
            if _is_edge(folded.text, first, first - 1) and _is_edge(folded.text, last, last + 1):
                candidates.append((first, -length, number))
                if len(candidates) >= MOST_MATCHES:
                    break
        return [
            (number, folded.place(first), folded.place(end - 1) + 1)
            for number, first, end in _apart(sorted(candidates))
        ]


def _automaton(names: Iterable[tuple[str, int]]) -> ahocorasick.Automaton | None:
    automaton = ahocorasick.Automaton()
    for name, number in names:
        plain = unicodedata.normalize("NFC", name[:_LONGEST_NAME])
        letters = fold_text(" ".join(plain.split()))
        if letters and letters not in automaton:
            automaton.add_word(letters, (number, len(letters)))
    if not len(automaton):
        return None
    automaton.make_automaton()
    return automaton


def _apart(candidates: Iterable[tuple[int, int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield value, start and end of each match that does not overlap an earlier one."""
    end = 0
    for first, negative, number in candidates:
        if first >= end:
            end = first - negative
            yield number, first, end


def _is_edge(text: str, inside: int, outside: int) -> bool:
    """Return whether there is a word boundary between two characters."""
    if not 0 <= outside < len(text):
        return True
    pair = text[inside], text[outside]
    return not (pair[0].isalnum() and pair[1].isalnum()) or has_unspaced("".join(pair))
