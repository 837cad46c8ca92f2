"""Text without regard to case and accents, and where in the original a place of it is."""

import re
import unicodedata
from bisect import bisect_right
from dataclasses import dataclass
from functools import cache

_MANY = 48  # distinct letters to replace, from which one look at each character is faster
# Scripts whose marks are accents; in others they are vowels or make another letter.
_ACCENTED = ((0xC0, 0x250), (0x370, 0x530), (0x622, 0x6D4), (0x1E00, 0x2000), (0xFF01, 0xFF5F))
_OTHERS = {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "ħ": "h", "ŧ": "t", "ς": "σ", "’": "'"}
_PAIRS = {"ß": "ss", "æ": "ae", "œ": "oe", "ĳ": "ij", "ﬁ": "fi", "ﬂ": "fl"}
_PAIR = re.compile(f"[{''.join(_PAIRS)}]")


@dataclass(frozen=True, slots=True)
class FoldedText:
    """A text as `fold_text` makes it; `widened` are the places of letters that became two."""

    text: str
    widened: tuple[int, ...] = ()

    def place(self, index: int) -> int:
        """Return the place in the original of the character at `index`."""
        return index - bisect_right(self.widened, index) if self.widened else index


def fold_text(text: str) -> str:
    """Return a text in lower case, its accents left out: `Élysée` is `elysee`, `Straße` `strasse`.

    `text` is in the normal form NFC.
    """
    return folded_text(text).text


def folded_text(text: str) -> FoldedText:
    """Return a text as `fold_text` does, and what of it is where in the original."""
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
    """Return what becomes of lower-case letters beyond ASCII."""
    table = {ord(letter): other for letter, other in (_OTHERS | _PAIRS).items()}
    for first, last in _ACCENTED:
        for code in range(first, last):
            base = unicodedata.normalize("NFKD", chr(code))[0].lower()
            base = _OTHERS.get(base, base)
            if code not in table and base != chr(code) and base.isalnum() and len(base) == 1:
                table[code] = base
    return table
