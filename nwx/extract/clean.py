"""Text as it may be stored: NFC, without controls, surrogates and invisible characters."""

import re
import unicodedata

BLOCK = "\x00"
"""Stands between two blocks of a text that is still to be cleaned."""

_LONG_LINE = 40  # characters
_LITTLE = 150

# Controls but white space; soft hyphen, zero-width space and byte order mark,
# which hide a word from a search; surrogates; noncharacters.
_UNWANTED = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\ufeff\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)


def clean_line(text: str) -> str:
    """Return `text` as one line: white space runs are one space, none at the ends."""
    line = " ".join(text.split())
    if line.isascii() and line.isprintable():
        return line
    if _UNWANTED.search(line):
        line = " ".join(_UNWANTED.sub("", line).split())
    return unicodedata.normalize("NFC", line)


def clean_blocks(text: str, limit: int) -> tuple[str, bool]:
    """Return the lines of a text whose blocks are set apart by `BLOCK`, and whether it was cut.

    Empty blocks vanish. The result has at most `limit` characters.
    """
    lines = [" ".join(block.split()) for block in text.split(BLOCK)]
    joined = "\n".join(filter(None, lines))
    if _UNWANTED.search(joined):
        lines = [" ".join(_UNWANTED.sub("", line).split()) for line in lines]
        joined = "\n".join(filter(None, lines))
    joined = unicodedata.normalize("NFC", joined)
    if len(joined) <= limit:
        return joined, False
    return unicodedata.normalize("NFC", joined[:limit]).strip(), True


def prose(content: str) -> str:
    """Return the long lines of a text, menus and the like left out; all where little is left."""
    lines = [line for line in content.split("\n") if len(line) >= _LONG_LINE]
    text = "\n".join(lines)
    return text if len(text) >= _LITTLE else content
