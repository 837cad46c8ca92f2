"""URLs in the `<style>` elements and the `style` and `background` attributes of a page.

They are searched in the markup, since any element can have such attributes
and most pages have none of them with a URL: other pages cost one search.
"""

import re
from collections.abc import Iterator
from html import unescape

from nwx.extract.css.references import css_references
from nwx.extract.links import RawLink
from nwx.values.link_kinds import IMG

_SIGNS = ("url(", "@import", "-set(", "background=", "background =")
_TAG = r"""<(?:{name})(?:[^<>"']++|"[^"]*+"|'[^']*+')*+"""
_HIDDEN = "script|style|textarea|title|xmp|iframe|noembed|noframes|noscript|template"
_SILENT = re.compile(
    r"<!--[\s\S]*?(?:-->|\Z)|"
    + _TAG.format(name=rf"({_HIDDEN})(?=[\s/>])")
    + r">([\s\S]*?)(?:</\1|\Z)",
    re.IGNORECASE | re.ASCII,
)
_START_TAG = re.compile(_TAG.format(name="[a-zA-Z]"))
_ATTRIBUTE = re.compile(
    r"""([^\s"'<>/=]++)(?:\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++)))?+""", re.ASCII
)


def inline_links(html: str) -> Iterator[RawLink]:
    """Yield what the inline styles of a page load, and its background images.

    Comments, scripts and elements that browsers do not show are left out.
    """
    if not _has_sign(html):
        return
    pieces: list[str] = []
    position = 0
    for silent in _SILENT.finditer(html):
        pieces.append(html[position : silent.start()])
        position = silent.end()
        if (silent[1] or "").lower() == "style":
            yield from css_references(silent[2])
    pieces.append(html[position:])
    for tag in _signed_tags("".join(pieces)):
        yield from _of_tag(tag)


def _has_sign(markup: str) -> bool:
    """Return whether markup holds what a URL of a style or a background begins with."""
    lower = markup.lower()
    return any(sign in lower for sign in _SIGNS)


def _signed_tags(html: str) -> Iterator[str]:
    """Yield the start tags that hold a sign, some several times."""
    lower = html.lower()
    if len(lower) != len(html):
        lower = html  # of a few letters the small one has more characters
    for sign in _SIGNS:
        position = lower.find(sign)
        floor = 0
        while position >= 0:
            start = html.rfind("<", floor, position)
            tag = _START_TAG.match(html, start) if start >= 0 else None
            floor = position + len(sign)
            if tag and tag.end() > position:
                floor = tag.end()
                yield tag[0]
            position = lower.find(sign, floor)


def _of_tag(tag: str) -> Iterator[RawLink]:
    for attribute in _ATTRIBUTE.finditer(tag):
        name = attribute[1].lower()
        value = attribute[2] or attribute[3] or attribute[4]
        if value and name == "style":
            yield from css_references(unescape(value))
        elif value and name == "background":
            yield IMG, unescape(value), ""
