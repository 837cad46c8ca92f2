"""The words of a text, and the names and dates found in it."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from enum import StrEnum
from itertools import accumulate, islice
from typing import NamedTuple

from nwx.steering.analysis.lemmas import WORD_LISTS


class NameKind(StrEnum):
    """The kind of a name found without the specification; a date is 2002-08-12."""

    PERSON = "person"
    ORGANISATION = "organisation"
    PLACE = "place"
    EVENT = "event"
    DATE = "date"
    OTHER = "other"


class Name(NamedTuple):
    """A name found in a text without the specification; `start` is in characters."""

    text: str
    kind: NameKind
    start: int


class TextReading:
    """The words of a text: the folded lemma and the position of each.

    `pieces` is the text cut alternately into separators and words. `closed` are lemmas of closed
    word classes (articles, prepositions, pronouns). `names` are the names found by a model, None if
    it does not look for names.
    """

    def __init__(
        self,
        pieces: Sequence[str],
        lemmas: Sequence[str],
        closed: frozenset[str] = frozenset(),
        names: Sequence[Name] | None = None,
    ) -> None:
        self.lemmas = lemmas
        self.closed = closed
        self.names = names
        self.pieces = pieces
        self._ends: list[int] = []

    def span(self, index: int) -> tuple[int, int]:
        """Return start and end of a word in the text, in characters."""
        if not self._ends:  # not needed for most pages
            self._ends = list(accumulate(map(len, self.pieces)))
        return self._ends[2 * index], self._ends[2 * index + 1]


class LanguageModel(ABC):
    """Lemmatises texts and finds names; one for all languages of a process."""

    @abstractmethod
    def read(self, text: str, language: str) -> TextReading:
        """Return the words of a text; `language` is ISO 639-1, "" if unknown."""

    @abstractmethod
    def names(self, text: str, reading: TextReading, language: str) -> list[Name]:
        """Return the names and dates in a text with this reading."""


MOST_NAMES = 5_000
"""Names found in one text; the rest is not searched."""

_MOST_RUNS = 20_000
_MOST_WORDS = 7
_MOST_OF_PERSON = 5
_FEWEST_WORDS = 2
_LONGEST_WORD = 40
_ALL_CAPITALISED = frozenset({"de"})  # languages in which every noun begins with a capital
_BETWEEN = frozenset({" ", "-", "’", "'", " & "})
_SURNAME_TOO = "may"  # Theresa May
_SENTENCE_ENDS = frozenset('.!?:;\n"“”»«•|/')


def names_in(reading: TextReading, language: str) -> list[Name]:
    """Return the persons, organisations and other names in a text, in order.

    A person has a title, an organisation a word such as "university"; other names are several
    capitalised words within a sentence, but not in German, which capitalises all nouns. Lines of
    capitalised words only are headings and menus, searched for persons only. Names never begin or
    end with a function word of the language, such as a preposition.
    """
    found = []
    for first, last in islice(_runs(reading), _MOST_RUNS):
        name = _person(reading, first, last)
        if name is None and not _is_line(reading, first, last):
            name = _organisation(reading, first, last, language) or _other(
                reading, first, last, language
            )
        if name is not None:
            found.append(name)
            if len(found) >= MOST_NAMES:
                break
    return found


def _runs(reading: TextReading) -> Iterator[tuple[int, int]]:
    """Yield start and end of sequences of capitalised words, with the particles between them."""
    pieces = reading.pieces
    words = pieces[1::2]
    end = 0
    for first in [index for index, word in enumerate(words) if word[0].isupper()]:
        if first < end:
            continue
        end = first + 1
        while end < len(words) and end - first < _MOST_WORDS and _joins(pieces, end):
            if words[end][0].isupper():
                end += 1
            elif words[end] in WORD_LISTS.particles and _leads_on(pieces, end):
                end += 2
            else:
                break
        yield first, end


def _joins(pieces: Sequence[str], index: int) -> bool:
    """Return whether a word may belong to the same name as the one before it."""
    between = pieces[2 * index]
    if between == ". ":
        before = pieces[2 * index - 1]
        return len(before) == 1 or before.lower() in WORD_LISTS.person_titles
    return between in _BETWEEN and len(pieces[2 * index + 1]) <= _LONGEST_WORD


def _leads_on(pieces: Sequence[str], index: int) -> bool:
    """Return whether a capitalised word follows a particle."""
    following = 2 * index + 3
    return (
        following < len(pieces)
        and pieces[following - 1] == " "
        and pieces[following][0].isupper()
        and len(pieces[following]) <= _LONGEST_WORD
    )


def _is_line(reading: TextReading, first: int, last: int) -> bool:
    """Return whether a sequence of words is a whole line."""
    before, behind = reading.pieces[2 * first], reading.pieces[2 * last]
    starts = first == 0 or "\n" in before
    return starts and (2 * last + 1 >= len(reading.pieces) or "\n" in behind)


def _person(reading: TextReading, first: int, last: int) -> Name | None:
    words = [word.lower() for word in reading.pieces[2 * first + 1 : 2 * last : 2]]
    titles = [place for place, word in enumerate(words) if word in WORD_LISTS.person_titles]
    if not titles and not _follows_title(reading, first):
        return None
    if words[-1] in WORD_LISTS.organisation_ends:
        return None
    if titles:
        first += titles[-1] + 1
    last = _end(reading, first, last)
    if not 1 <= last - first <= _MOST_OF_PERSON or reading.lemmas[first] in reading.closed:
        return None
    return _named(reading, first, last, NameKind.PERSON)


def _follows_title(reading: TextReading, index: int) -> bool:
    """Return whether a lower-case title precedes a word."""
    before, between = reading.pieces[2 * index - 1 : 2 * index + 1] if index else ("", "")
    return before in WORD_LISTS.person_titles and len(before) > 1 and between in (" ", ". ")


def _organisation(reading: TextReading, first: int, last: int, language: str) -> Name | None:
    first = _start(reading, first, last)
    if reading.pieces[2 * last - 1].lower() not in WORD_LISTS.organisation_ends:
        last = _end(reading, first, last)
    words = [word.lower() for word in reading.pieces[2 * first + 1 : 2 * last : 2]]
    if len(words) < _FEWEST_WORDS:
        return None
    begins = words[0] in WORD_LISTS.organisation_starts and (
        language != "en" or words[1] in WORD_LISTS.particles
    )
    if not begins and words[-1] not in WORD_LISTS.organisation_ends:
        return None
    return _named(reading, first, last, NameKind.ORGANISATION)


def _other(reading: TextReading, first: int, last: int, language: str) -> Name | None:
    if language in _ALL_CAPITALISED:
        return None
    if _begins_sentence(reading, first):
        first += 1
    first = _start(reading, first, last)
    last = _end(reading, first, last)
    if last - first < _FEWEST_WORDS:
        return None
    return _named(reading, first, last, NameKind.OTHER)


def _start(reading: TextReading, first: int, last: int) -> int:
    """Return the start of a name without leading function words and stray particles."""
    while first < last and (
        reading.lemmas[first] in reading.closed
        or reading.pieces[2 * first + 1] in WORD_LISTS.particles
    ):
        first += 1
    return first


def _end(reading: TextReading, first: int, last: int) -> int:
    """Return the end of a name without trailing function words."""
    while first < last and (word := reading.lemmas[last - 1]) in reading.closed:
        if word == _SURNAME_TOO:
            break
        last -= 1
    return last


def _begins_sentence(reading: TextReading, index: int) -> bool:
    return index == 0 or not _SENTENCE_ENDS.isdisjoint(reading.pieces[2 * index])


def _named(reading: TextReading, first: int, last: int, kind: NameKind) -> Name:
    text = "".join(reading.pieces[2 * first + 1 : 2 * last])
    return Name(text, kind, reading.span(first)[0])


MOST_DATES = 2_000
"""Dates found in one text; the rest is not searched."""

_YEARS = ("1", "20")  # first digits of years
_ENDINGS = ("st", "nd", "rd", "th", "er", "e", "º")
_MOST_YEARS = 20_000
_PREPOSITIONS = frozenset({"of", "de", "del", "di"})

_Found = tuple[int, int, int]  # month, day, index of the first word


def dates_in(reading: TextReading) -> list[Name]:
    """Return the dates of a text, written as 2002-08-12, in order.

    Recognised are 2002-08-12, 12.8.2002, 12 August 2002, August 12th, 2002 and the like in seven
    languages. 12/8/2002 is not: it is ambiguous.
    """
    words = reading.pieces[1::2]
    years = [
        index
        for index, word in enumerate(words)
        if len(word) == 4 and word.isdecimal() and word.isascii() and word.startswith(_YEARS)
    ]
    dates = []
    for index in years[:_MOST_YEARS]:
        found = _in_figures(reading.pieces, index) or _in_words(words, index)
        if found is not None:
            month, day, first = found
            text = f"{words[index]}-{month:02}-{day:02}"
            dates.append(Name(text, NameKind.DATE, reading.span(first)[0]))
            if len(dates) >= MOST_DATES:
                break
    return dates


def _in_figures(pieces: Sequence[str], year: int) -> _Found | None:
    """Return a date written as 2002-08-12 or 12.8.2002."""
    place = 2 * year + 1
    if pieces[place + 1 : place + 4 : 2] == ["-", "-"] and place + 4 < len(pieces):
        return _checked(pieces[place + 2], pieces[place + 4], year)
    if year > 1 and pieces[place - 3 : place : 2] in ([".", "."], [". ", ". "]):
        return _checked(pieces[place - 2], pieces[place - 4], year - 2)
    return None


def _in_words(words: Sequence[str], year: int) -> _Found | None:
    """Return a date written as 12 August 2002, 12 de agosto de 2002 or August 12th, 2002."""
    near = [
        index
        for index in range(year - 1, max(-1, year - 6), -1)
        if words[index].lower() not in _PREPOSITIONS
    ][:2]
    if len(near) < 2:
        return None
    last, first = words[near[0]].lower(), words[near[1]].lower()
    if last in WORD_LISTS.months:
        return _checked(str(WORD_LISTS.months[last]), _cardinal(first), near[1])
    if first in WORD_LISTS.months:
        return _checked(str(WORD_LISTS.months[first]), _cardinal(last), near[1])
    return None


def _cardinal(word: str) -> str:
    """Return an ordinal such as 1st, 2nd or 1er without its ending."""
    return next((word.removesuffix(end) for end in _ENDINGS if word.endswith(end)), word)


def _checked(month: str, day: str, first: int) -> _Found | None:
    if not (len(month) <= 2 and len(day) <= 2 and f"{month}{day}".isascii()):
        return None
    if not (month.isdecimal() and day.isdecimal()):
        return None
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return None
    return int(month), int(day), first
