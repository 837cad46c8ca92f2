"""Names found by their letters, without regard to case and accents, at word boundaries."""

import unicodedata
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from nwx.steering.analysis.language.folded_text import fold_text, folded_text
from nwx.steering.analysis.language.lemmas import has_unspaced

if TYPE_CHECKING:
    import ahocorasick

MOST_MATCHES = 20_000
"""In one text; what follows is not looked at."""

_LONGEST_NAME = 200  # characters


class LetterMatcher:
    """Names with what they stand for, all found in one pass by Aho and Corasick's automaton.

    The first of several that a name stands for counts. In scripts without
    spaces between words a name is found within others too.
    """

    def __init__(self, names: Iterable[tuple[str, int]]) -> None:
        self._automaton = _automaton(names)

    def matches(self, text: str) -> list[tuple[int, int, int]]:
        """Return what each name stands for, where it begins and where it ends, in order.

        Of names that overlap the first counts, of those of one place the longest.
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


def _automaton(names: Iterable[tuple[str, int]]) -> "ahocorasick.Automaton | None":
    # Imported here, as all of analysis is: other commands do without.
    import ahocorasick

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
    """Yield the matches that do not overlap with an earlier one: what, first, end."""
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
