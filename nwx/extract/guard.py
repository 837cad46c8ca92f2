"""Sanitizing of markup before it is parsed.

Parsers that follow the HTML standard take quadratic time or memory on deep nesting, many
unclosed formatting elements, and tags with very many attributes. Browsers stop at 512 nested
elements; so does this module.
"""

import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from string import ascii_letters, digits

import numpy as np
from numpy.typing import NDArray

from nwx.extract.page import ExtractLimits, names_of

_HARMLESS_TAGS = 8_000  # fewer tags than this cannot nest deep enough to hurt
_HARMLESS_FORMATTING = 2_000  # fewer tags cannot multiply enough formatting elements
_HARMLESS_SIZE = 65_536  # characters that cannot hold enough attributes to hurt
_HARMLESS_TAG = 49_152  # characters of one tag, likewise
_MOST_COPIES = 1_000_000  # of unclosed formatting elements, which each block opens again
_MANY_ATTRIBUTES = 1_000


def _any_case(name: str) -> str:
    """Return a case-insensitive pattern of a name; three times as fast as re.IGNORECASE here."""
    return "".join(f"[{letter}{letter.upper()}]" for letter in name)


_LONG_NAMES = ("tt", "em", "big", "code", "font", "nobr", "small", "strike", "strong")
_NAMES = "|".join(("[bBiIuUsS]", *map(_any_case, _LONG_NAMES)))
_FORMATTING = re.compile(rf"<(/?)(?:{_NAMES})(?=[\s/>])")
_FORMATTING_START = re.compile(rf"<(?:{_NAMES})(?=[\s/>])")
_NAME = re.compile(r"<(/?)([a-zA-Z][^\s/>]{0,63})")
_TAG = re.compile(r"""<[a-zA-Z](?:[^<>"']++|"[^"]*+"|'[^']*+')*+""")
# Comments and tags as the tokenizer of the HTML standard reads them.
_EXACT_TAG = re.compile(
    r"""<!--.*?(?:-->|\Z)|<([a-z][^\s/>]*+)((?:[\s/]++|[^\s/>=]++|=\s*+(?:"[^"]*+"|'[^']*+'|[^\s>]*+))*+)""",
    re.IGNORECASE | re.DOTALL,
)
_RAW_END = {
    name: re.compile(f"</{name}", re.IGNORECASE)
    for name in ("script", "style", "xmp", "iframe", "noembed", "noframes", "noscript")
}
_VALUE = re.compile(r"""=\s*(?:"[^"]*"|'[^']*')""")
_SEPARATOR = re.compile(r"[\s/\"']+")

# Void elements, and elements that a sibling or parent closes implicitly.
_FLAT = names_of(
    "a area base basefont bgsound br col embed frame h1 h2 h3 h4 h5 h6 hr img input keygen link "
    "meta param source track wbr html head body p li dt dd option optgroup rp rt rb rtc tr thead "
    "tbody tfoot colgroup"
)
_BARRIERS = names_of("table td th caption button object marquee applet template svg math")
_INLINE = names_of(
    "span abbr acronym bdi bdo cite del dfn ins kbd label mark q samp sub sup time var"
)


def disarm(html: str, limits: ExtractLimits) -> tuple[str, list[str]]:
    """Return markup that parses in linear time, and a list of the problems found.

    Formatting elements, if there are too many, and elements nested too deep become void elements,
    so that text and links remain.
    """
    data = np.frombuffer(b"%b  " % html.encode("utf-8", "surrogatepass"), np.uint8)
    is_tag = data == ord("<")
    tags = int(np.count_nonzero(is_tag))
    if tags <= _HARMLESS_FORMATTING:
        return html, []
    problems = []
    most = min(_may_format(data, np.flatnonzero(is_tag)), (tags + 1) // 2)  # the product's maximum
    if tags > limits.tags:
        html = _first_tags(html, limits.tags)
        problems.append(f"tags: more than {limits.tags} tags, the rest was left out")
    if most * (tags - most) > _MOST_COPIES:
        formatting = len(_FORMATTING_START.findall(html))
        if formatting * (tags - formatting) > _MOST_COPIES:
            html = _FORMATTING.sub(r"<\1wbr", html)
    if tags > _HARMLESS_TAGS:
        html, flattened = _Nesting(limits.depth).flatten(html)
        if flattened:
            problems.append(f"depth: {flattened} tags lie deeper than {limits.depth} elements")
    return html, problems


def _may_format(data: NDArray[np.uint8], tags: NDArray[np.int64]) -> int:
    """Return an upper bound of the start tags of formatting elements, by their first letters."""
    pairs = data[tags + 1].astype(np.uint16) << np.uint16(8) | data[tags + 2]
    return int(np.count_nonzero(_formatting_starts()[pairs]))


@cache
def _formatting_starts() -> NDArray[np.bool_]:
    """Return the pairs of bytes that may begin the name of a formatting element."""
    starts = np.zeros((256, 256), np.bool_)
    others = np.setdiff1d(np.arange(256), list((ascii_letters + digits).encode()))
    for name in (*"bius", *_LONG_NAMES):
        for first, second in product(*((letter, letter.upper()) for letter in name[:2].ljust(2))):
            starts[ord(first), others if second == " " else ord(second)] = True
    return starts.ravel()


def crowded(html: str) -> bool:
    """Return whether a tag has so many attributes that parsing it takes too long."""
    if len(html) < _HARMLESS_SIZE:
        return False
    if not _has_long_tag(html):
        return False
    return any(
        len(_SEPARATOR.findall(_VALUE.sub(" ", attributes))) > _MANY_ATTRIBUTES
        for attributes in _long_attributes(html)
    )


def _has_long_tag(html: str) -> bool:
    """Return whether there may be a tag longer than `_HARMLESS_TAG` characters."""
    last = len(html) - _HARMLESS_TAG
    if last > _HARMLESS_TAG:
        return max(map(len, _TAG.findall(html)), default=0) > _HARMLESS_TAG
    for tag in _TAG.finditer(html):  # only few begin early enough to be that long
        if tag.start() >= last:
            break
        if len(tag[0]) > _HARMLESS_TAG:
            return True
    return False


def _long_attributes(html: str) -> Iterator[str]:
    """Yield the attributes of each long tag, ignoring scripts and comments."""
    position = 0
    while tag := _EXACT_TAG.search(html, position):
        position = tag.end()
        name = (tag[1] or "").lower()
        if tag[2] and len(tag[2]) > _HARMLESS_TAG:
            yield tag[2]
        if name in _RAW_END:
            end = _RAW_END[name].search(html, position)
            position = end.end() if end else len(html)


def _first_tags(html: str, count: int) -> str:
    """Return the markup up to tag number `count`."""
    parts = html.split("<", count + 1)
    return html[: len(html) - len(parts[-1]) - 1]


class _Nesting:
    """The open elements while markup is scanned, with one counter per scope.

    Table cells, buttons and similar elements are scopes: an end tag inside them closes nothing
    outside.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._depth = 0
        self._flattened = 0
        self._scopes: list[tuple[str, dict[str, int]]] = [("", {})]

    def flatten(self, html: str) -> tuple[str, int]:
        """Return the markup with tags beyond the depth limit made void, and their number."""
        rewritten = _NAME.sub(self._rewrite, html)
        return (rewritten, self._flattened) if self._flattened else (html, 0)

    def _rewrite(self, tag: re.Match[str]) -> str:
        name = tag[2].lower()
        if name in _FLAT:
            return tag[0]
        if tag[1]:
            return tag[0] if self._close(name) else "</wbr"
        if self._depth < self._limit:
            self._open(name)
            return tag[0]
        self._flattened += 1
        return "<wbr" if name in _INLINE else "<br"

    def _open(self, name: str) -> None:
        self._depth += 1
        if name in _BARRIERS:
            self._scopes.append((name, {}))
        else:
            counts = self._scopes[-1][1]
            counts[name] = counts.get(name, 0) + 1

    def _close(self, name: str) -> bool:
        """Close the innermost element of a name in scope; return False if none is open."""
        barrier, counts = self._scopes[-1]
        if name == barrier:
            self._scopes.pop()
            self._depth -= 1 + sum(counts.values())
            return True
        if name == "table" and any(opened == "table" for opened, _ in self._scopes):
            while self._close(self._scopes[-1][0]) and self._scopes[-1][0] != "table":
                pass
            return self._close("table")
        if counts.get(name, 0) > 0:
            counts[name] -= 1
            self._depth -= 1
            return True
        return False
