"""Dates in a text that have day, month and year."""

from collections.abc import Sequence

from nwx.steering.analysis.language.language_model import Name, NameKind, TextReading
from nwx.steering.analysis.language.name_words import MONTHS

MOST_DATES = 2_000
"""Of one text; what follows is not looked at."""

_YEARS = ("1", "20")  # what years begin with
_ENDINGS = ("st", "nd", "rd", "th", "er", "e", "º")
_MOST_YEARS = 20_000
_PREPOSITIONS = frozenset({"of", "de", "del", "di"})

_Found = tuple[int, int, int]  # month, day, index of the first word


def dates_in(reading: TextReading) -> list[Name]:
    """Return the dates of a text, written as 2002-08-12, in order.

    Read are 2002-08-12, 12.8.2002, 12 August 2002, August 12th, 2002 and
    the like in seven languages. 12/8/2002 is not, as it has two meanings.
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
    """Return 2002-08-12 and 12.8.2002."""
    place = 2 * year + 1
    if pieces[place + 1 : place + 4 : 2] == ["-", "-"] and place + 4 < len(pieces):
        return _checked(pieces[place + 2], pieces[place + 4], year)
    if year > 1 and pieces[place - 3 : place : 2] in ([".", "."], [". ", ". "]):
        return _checked(pieces[place - 2], pieces[place - 4], year - 2)
    return None


def _in_words(words: Sequence[str], year: int) -> _Found | None:
    """Return 12 August 2002, 12 de agosto de 2002 and August 12th, 2002."""
    near = [
        index
        for index in range(year - 1, max(-1, year - 6), -1)
        if words[index].lower() not in _PREPOSITIONS
    ][:2]
    if len(near) < 2:
        return None
    last, first = words[near[0]].lower(), words[near[1]].lower()
    if last in MONTHS:
        return _checked(str(MONTHS[last]), _cardinal(first), near[1])
    if first in MONTHS:
        return _checked(str(MONTHS[first]), _cardinal(last), near[1])
    return None


def _cardinal(word: str) -> str:
    """Return the figures of 1st, 2nd, 1er."""
    return next((word.removesuffix(end) for end in _ENDINGS if word.endswith(end)), word)


def _checked(month: str, day: str, first: int) -> _Found | None:
    if not (len(month) <= 2 and len(day) <= 2 and f"{month}{day}".isascii()):
        return None
    if not (month.isdecimal() and day.isdecimal()):
        return None
    if not (1 <= int(month) <= 12 and 1 <= int(day) <= 31):
        return None
    return int(month), int(day), first
