"""Text as it may be stored: NFC, without controls, surrogates and invisible characters."""

import re
import unicodedata

BLOCK = "\x00"
"""Stands between two blocks of a text that is still to be cleaned."""

_LONG_LINE = 40  # characters
_LITTLE = 150

# Controls but white space; soft hyphen, zero-width space and byte order mark,
# which hide a word from a search; surrogates; noncharacters.
_CODES = (
    "\x01-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\ufeff\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"
)
_UNWANTED = re.compile(f"[{BLOCK}{_CODES}]")
_UNWANTED_IN_BLOCKS = re.compile(f"[{_CODES}]")
_ASCII = bytes(range(0x80))
_CONTROLS = bytes(code for code in _ASCII if _UNWANTED_IN_BLOCKS.match(chr(code)))


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
    if _has_unwanted(text):
        text = _UNWANTED_IN_BLOCKS.sub("", text)
    lines = [" ".join(block.split()) for block in text.split(BLOCK)]
    joined = unicodedata.normalize("NFC", "\n".join(filter(None, lines)))
    if len(joined) <= limit:
        return joined, False
    return unicodedata.normalize("NFC", joined[:limit]).strip(), True


def _has_unwanted(text: str) -> bool:
    """Return whether there is any unwanted character but `BLOCK`.

    Bytes are looked through five times as fast as characters are.
    """
    data = text.encode("utf-8", "surrogatepass")
    if len(data.translate(None, _CONTROLS)) < len(data):
        return True
    beyond_ascii = data.translate(None, _ASCII)
    if not beyond_ascii:
        return False
    return _UNWANTED_IN_BLOCKS.search(beyond_ascii.decode("utf-8", "surrogatepass")) is not None


def prose(content: str) -> str:
    """Return the long lines of a text, menus and the like left out; all where little is left."""
    lines = [line for line in content.split("\n") if len(line) >= _LONG_LINE]
    text = "\n".join(lines)
    return text if len(text) >= _LITTLE else content
