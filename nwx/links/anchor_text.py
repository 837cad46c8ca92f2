"""Anchor texts as they are counted and shown."""

import re

from nwx.extract.clean import clean_line
from nwx.model import ANCHOR_CHARACTERS

# Marks that change the direction of the text around them: they could show a
# text as another than it is. Joiners, which scripts need, stay.
_DIRECTIONS = re.compile("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean_anchor(text: str) -> str:
    """Return an anchor text without control and directional characters, blanks folded, cut."""
    text = text[: 4 * ANCHOR_CHARACTERS]
    if not text.isascii():
        text = _DIRECTIONS.sub("", text)
    return clean_line(text)[:ANCHOR_CHARACTERS].rstrip()
