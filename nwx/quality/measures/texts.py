"""How alike two texts of a page are, as Browsertrix counts it."""

import re

from rapidfuzz.distance import Levenshtein

PIECE_CHARACTERS = 50_000
"""Longer texts are compared in pieces of so many characters, as time grows with the square."""

_TWO_UNITS = re.compile("[\U00010000-\U0010ffff]")


def text_match(crawl: str, played: str) -> float:
    """Return 1 - Levenshtein distance / length of the longer text; 1 for two empty texts.

    Characters are UTF-16 code units, as in Browsertrix. What both texts
    begin and end with is left aside; where more than PIECE_CHARACTERS are
    left, the distances of pieces are added: never less than the distance,
    so that the match of long texts is never too high.
    """
    first, second = _code_units(crawl), _code_units(played)
    longer = max(len(first), len(second))
    return 1.0 - _distance(first, second) / longer if longer else 1.0


def _distance(first: str, second: str) -> int:
    if max(len(first), len(second)) <= PIECE_CHARACTERS:
        return int(Levenshtein.distance(first, second))
    first, second = _without_common_ends(first, second)
    longer = max(len(first), len(second))
    starts = range(0, longer, PIECE_CHARACTERS)
    pieces = (slice(start, start + PIECE_CHARACTERS) for start in starts)
    return sum(int(Levenshtein.distance(first[each], second[each])) for each in pieces)


def _without_common_ends(first: str, second: str) -> tuple[str, str]:
    start = _common_start(first, second)
    first, second = first[start:], second[start:]
    end = _common_start(first[::-1], second[::-1])
    return first[: len(first) - end], second[: len(second) - end]


def _common_start(first: str, second: str) -> int:
    """Return how many characters two texts begin with in common, by halving."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _code_units(text: str) -> str:
    if text.isascii():
        return text
    return _TWO_UNITS.sub(_surrogates, text)


def _surrogates(found: re.Match[str]) -> str:
    above = ord(found[0]) - 0x10000
    return chr(0xD800 + (above >> 10)) + chr(0xDC00 + (above & 0x3FF))
