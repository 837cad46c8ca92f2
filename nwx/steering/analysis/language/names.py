"""Names found by rules: persons with titles, organisations, and other capitalised words."""

from collections.abc import Iterator, Sequence
from itertools import islice

from nwx.steering.analysis.language.language_model import Name, NameKind, TextReading
from nwx.steering.analysis.language.name_words import (
    ORGANISATION_ENDS,
    ORGANISATION_STARTS,
    PARTICLES,
    PERSON_TITLES,
)

MOST_NAMES = 5_000
"""Of one text; what follows is not looked at."""

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

    A person has a title, an organisation a word that says so; other names
    are several capitalised words within a sentence, but not in German,
    where nouns have capitals too. Lines of capitalised words alone are
    headings and menus, and looked at for persons only. No name begins or
    ends with a function word of the language, such as a preposition.
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
    """Yield where sequences of capitalised words begin and end, particles between them included."""
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
            elif words[end] in PARTICLES and _leads_on(pieces, end):
                end += 2
            else:
                break
        yield first, end


def _joins(pieces: Sequence[str], index: int) -> bool:
    """Return whether a word may belong to the same name as the one before it."""
    between = pieces[2 * index]
    if between == ". ":
        before = pieces[2 * index - 1]
        return len(before) == 1 or before.lower() in PERSON_TITLES
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
    """Return whether there is nothing else in a line."""
    before, behind = reading.pieces[2 * first], reading.pieces[2 * last]
    starts = first == 0 or "\n" in before
    return starts and (2 * last + 1 >= len(reading.pieces) or "\n" in behind)


def _person(reading: TextReading, first: int, last: int) -> Name | None:
    words = [word.lower() for word in reading.pieces[2 * first + 1 : 2 * last : 2]]
    titles = [place for place, word in enumerate(words) if word in PERSON_TITLES]
    if not titles and not _follows_title(reading, first):
        return None
    if words[-1] in ORGANISATION_ENDS:
        return None
    if titles:
        first += titles[-1] + 1
    last = _end(reading, first, last)
    if not 1 <= last - first <= _MOST_OF_PERSON or reading.lemmas[first] in reading.closed:
        return None
    return _named(reading, first, last, NameKind.PERSON)


def _follows_title(reading: TextReading, index: int) -> bool:
    """Return whether a title in lower case stands in front of a word."""
    before, between = reading.pieces[2 * index - 1 : 2 * index + 1] if index else ("", "")
    return before in PERSON_TITLES and len(before) > 1 and between in (" ", ". ")


def _organisation(reading: TextReading, first: int, last: int, language: str) -> Name | None:
    first = _start(reading, first, last)
    if reading.pieces[2 * last - 1].lower() not in ORGANISATION_ENDS:
        last = _end(reading, first, last)
    words = [word.lower() for word in reading.pieces[2 * first + 1 : 2 * last : 2]]
    if len(words) < _FEWEST_WORDS:
        return None
    begins = words[0] in ORGANISATION_STARTS and (language != "en" or words[1] in PARTICLES)
    if not begins and words[-1] not in ORGANISATION_ENDS:
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
    """Return where a name begins: behind function words, and particles whose name is cut off."""
    while first < last and (
        reading.lemmas[first] in reading.closed or reading.pieces[2 * first + 1] in PARTICLES
    ):
        first += 1
    return first


def _end(reading: TextReading, first: int, last: int) -> int:
    """Return where a name ends: before function words."""
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
