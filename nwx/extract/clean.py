"""Text as it may be stored: NFC, without controls, surrogates and invisible characters."""

import re
import unicodedata

import numpy as np

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
_RARE = re.compile(f"[{_CODES}\x85\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_NO_BREAK_SPACE = "\xa0".encode()
_BLOCK, _SPACE, _LINE_BREAK = f"{BLOCK} \n".encode()
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
    joined = unicodedata.normalize("NFC", _joined_lines(text))
    if len(joined) <= limit:
        return joined, False
    return unicodedata.normalize("NFC", joined[:limit]).strip(), True


def _joined_lines(text: str) -> str:
    """Return the lines of the blocks of a text.

    Bytes are looked through five times as fast as characters are. They are
    enough where all white space is of ASCII, but for no-break spaces.
    """
    data = text.encode("utf-8", "surrogatepass")
    rare = len(data.translate(None, _CONTROLS)) < len(data)
    if not rare and (beyond_ascii := data.translate(None, _ASCII)):
        data = data.replace(_NO_BREAK_SPACE, b" ")
        beyond = beyond_ascii.replace(_NO_BREAK_SPACE, b"").decode("utf-8", "surrogatepass")
        rare = _RARE.search(beyond) is not None
    if not rare:
        return _joined_words(data)
    text = _UNWANTED_IN_BLOCKS.sub("", text)
    lines = [" ".join(block.split()) for block in text.split(BLOCK)]
    return "\n".join(filter(None, lines))


def _joined_words(data: bytes) -> str:
    """Return words with one line break where `BLOCK` was between them, or else one space."""
    codes = np.frombuffer(b" %b " % data, np.uint8)
    is_said = codes > _SPACE
    edges = np.flatnonzero(is_said[1:] != is_said[:-1]) + 1  # where words begin and end
    ends = edges[1::2]
    joined = codes.copy()
    joined[ends] = _SPACE
    borders = np.searchsorted(ends, np.flatnonzero(codes == _BLOCK), "right")
    joined[ends[borders[borders > 0] - 1]] = _LINE_BREAK
    is_said[ends] = True
    return joined[is_said][:-1].tobytes().decode()


def prose(content: str) -> str:
    """Return the long lines of a text, menus and the like left out; all where little is left."""
    lines = [line for line in content.split("\n") if len(line) >= _LONG_LINE]
    text = "\n".join(lines)
    return text if len(text) >= _LITTLE else content
