"""Pages as input of the analysis: text, links and their surroundings, headings, metadata."""

import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from nwx.extract.charset import decode
from nwx.extract.guard import disarm
from nwx.extract.html import declared_language, outline_of, page_title, repaired_html
from nwx.extract.links import Resolver
from nwx.extract.page import HEADINGS, LINKED, MIB, Element, ExtractLimits, ExtractPayload, Outline
from nwx.extract.text import clean_blocks, clean_line, language_of, prose
from nwx.model import Document
from nwx.values import urls as kinds

_NEAR = 130  # characters on each side of an anchor: some 20 words
_LONGEST_WORD = 30
_LONGEST_NAMES = 100  # characters of the names of one element
_LONGEST = 600  # characters of the names of all elements around a link
_MOST_PARENTS = 600  # as deep as markup may be nested

_NAMING = ("id", "class")
_UNNAMED = frozenset(
    {"html", "-document", "div", "span", "tbody", "tr", "b", "i", "font", "center"}
)


def words_around(content: str, start: int, length: int) -> tuple[int, int]:
    """Return the start and end of the words around an anchor, (-1, -1) if unknown.

    The anchor begins at `start` and has about `length` characters.
    """
    if start < 0:
        return -1, -1
    first = max(0, start - _NEAR)
    if first:
        blank = content.find(" ", first, min(first + _LONGEST_WORD, start))
        first = blank + 1 or first
    last = min(len(content), start + length + _NEAR)
    if last < len(content):
        blank = content.rfind(" ", max(last - _LONGEST_WORD, start + length), last)
        last = blank if blank >= 0 else last
    return first, last


class Surroundings:
    """The names of elements around the links of one page, cached by element."""

    def __init__(self) -> None:
        self._known: dict[int, str] = {}

    def classes_of(self, element: Element, attributes: Mapping[str, str | None]) -> str:
        """Return names, ids, classes and roles of enclosing elements, from the outermost in.

        The link's own names are last; `attributes` are the link's.
        """
        names = self._around(element.parent)
        if own := _class_names(element.tag or "", attributes):
            names = f"{names} {own}"
        if relation := attributes.get("rel"):
            names += "".join(f" rel:{name}" for name in relation[:_LONGEST_NAMES].lower().split())
        return names.strip()

    def _around(self, element: Element | None) -> str:
        climbed: list[tuple[int, Element]] = []
        names = ""
        while element is not None and len(climbed) < _MOST_PARENTS:
            number = element.mem_id
            if (known := self._known.get(number)) is not None:
                names = known
                break
            if element.tag == "body":
                break
            climbed.append((number, element))
            element = element.parent
        for number, each in reversed(climbed):
            if own := _class_names(each.tag or "", each.attributes):
                names = f"{names} {own}"[-_LONGEST:]
            self._known[number] = names
        return names


def _class_names(tag: str, attributes: Mapping[str, str | None]) -> str:
    """Return the names of an element: name, id, classes, role."""
    names = "" if tag in _UNNAMED else tag
    if attributes:
        for attribute in _NAMING:
            if value := attributes.get(attribute):
                names += f" {value[:_LONGEST_NAMES].lower()}"
        if value := attributes.get("role"):
            names += f" role:{value[:_LONGEST_NAMES].lower()}"
    return names


LIMITS = ExtractLimits(bytes=4 * MIB, characters=200_000, links=5_000, tags=200_000)
"""How much of a page is analysed."""

_MARK = "\ue5a7"  # private-use character that precedes the text of a link
_FEED = re.compile(r"application/(?:rss|atom)\+xml", re.IGNORECASE)
_LONGEST_TEXT = 500  # characters of an anchor, heading or metadata value
_MOST_METADATA = 200  # values
_TARGETS = {
    "a": ("href", kinds.A),
    "area": ("href", kinds.AREA),
    "frame": ("src", kinds.FRAME),
    "iframe": ("src", kinds.FRAME),
    "link": ("href", kinds.A),
}
"""Elements that lead to other pages: the attribute with the URL, and the kind of link."""


class PageLink(NamedTuple):
    """A link to another page, with the text near it.

    `around` has the anchor and some 20 words on each side of it in the visible text, `heading` is
    the nearest one above. `classes` are the names, ids, classes and roles of the elements around
    the link, from the outermost in, then its own; roles are `role:main`, its `rel` is `rel:next`.
    `place` is the start of the anchor in the content, `start` and `end` delimit `around`, in
    characters; -1 if unknown, or, for `place`, if `text` is an attribute. `changed` is the date of
    the last change by a list of URLs.
    """

    url: str
    text: str
    kind: str
    around: str = ""
    heading: str = ""
    classes: str = ""
    place: int = -1
    start: int = -1
    end: int = -1
    changed: str = ""


@dataclass(frozen=True, slots=True)
class PageView:
    """A page as input of the analysis, bounded by LIMITS.

    `links` are the links to other pages, in order; a URL may occur several times. `metadata` has
    the values of `<meta>` by name, in lower case. `html` is the captured HTML, b"" if only the text
    of the index is available; `charset` is from the HTTP header.
    """

    url: str
    timestamp: str
    title: str = ""
    content: str = ""
    language: str = ""
    links: tuple[PageLink, ...] = ()
    generator: str = ""
    metadata: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    body_classes: str = ""
    html: bytes = b""
    charset: str = ""


def page_view(html: bytes, url: str, timestamp: str, charset: str = "") -> PageView:
    """Return the page view of an HTML payload; no input raises an error."""
    data = html[: LIMITS.bytes]
    payload = ExtractPayload(data, url, "", charset, "fast", LIMITS, math.inf)
    text = decode(data, "", charset).replace(_MARK, " ")
    markup, problems = disarm(repaired_html(text, ""), LIMITS)
    outline = outline_of(markup, payload, problems, _MARK)
    content, places = _content(outline)
    about = outline.without_links()
    metadata = _metadata(about)
    first = {name: values[0] for name, values in metadata.items()}
    bodies = outline.named("body")
    return PageView(
        url=url,
        timestamp=timestamp,
        title=page_title(about) or first.get("og:title", ""),
        content=content,
        language=language_of(prose(content), declared_language(about, first)),
        links=tuple(_links(outline, url, content, places)),
        generator=first.get("generator", ""),
        metadata=metadata,
        body_classes=_names(bodies[0]) if bodies else "",
        html=data,
        charset=charset,
    )


def page_view_of_document(document: Document) -> PageView:
    """Return the page view of a document whose record cannot be read.

    It has the text of the page, but no text near links.
    """
    extract, capture = document.extract, document.capture
    links = (
        PageLink(link.url, link.text[:_LONGEST_TEXT], kinds.present_kind(link.kind))
        for link in extract.links[: LIMITS.links]
    )
    followed = kinds.NAVIGATIONAL | {kinds.FRAME}
    return PageView(
        url=capture.url,
        timestamp=capture.timestamp,
        title=extract.title,
        content=extract.content[: LIMITS.characters],
        language=extract.content_language,
        links=tuple(link for link in links if link.kind in followed),
        metadata={"description": (extract.description,)} if extract.description else {},
    )


def _content(outline: Outline) -> tuple[str, list[int]]:
    """Return the visible text, and the start of the text of each link in it."""
    marks = sum(tag in LINKED for tag, _ in outline.elements)
    text = outline.text
    if text.count(_MARK) != marks:  # the page has the character itself, as a reference
        text = text.replace(_MARK, "")
    marked, _ = clean_blocks(text, LIMITS.characters)
    first, *pieces = marked.split(_MARK)
    places = []
    length = len(first)
    for piece in pieces:
        places.append(length + len(piece) - len(piece.lstrip()))
        length += len(piece)
    return "".join((first, *pieces)), places


def _links(outline: Outline, url: str, content: str, places: list[int]) -> Iterator[PageLink]:
    bases = (element.attributes.get("href") for element in outline.named("base"))
    resolver = Resolver(url, next(filter(None, bases), ""))
    surroundings = Surroundings()
    heading = ""
    count = 0
    starts = iter(places)
    for tag, element in outline.elements:
        if tag in HEADINGS:
            heading = _field(element.text())
            continue
        place = next(starts, -1) if tag in LINKED else -1
        if tag not in _TARGETS:
            continue
        name, kind = _TARGETS[tag]
        attributes = element.attributes
        if tag == "link" and not _FEED.match(attributes.get("type") or ""):
            continue
        reference = attributes.get(name)
        target = resolver.absolute(reference) if reference else ""
        if not target:
            continue
        count += 1
        if count > LIMITS.links:
            return
        anchor = _field(element.text()) if tag == "a" else ""
        text = anchor or _field(attributes.get("title") or attributes.get("alt") or "")
        start, end = words_around(content, place, len(anchor))
        around = content[start:end] if place >= 0 else ""
        classes = surroundings.classes_of(element, attributes)
        if text and not anchor:
            place = -1  # the content at this position is not the link's text
        yield PageLink(target, text, kind, around, heading, classes, place, start, end)


def _metadata(about: Outline) -> dict[str, tuple[str, ...]]:
    """Return the contents of the named `<meta>` elements, all of each name."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for element in about.named("meta")[:_MOST_METADATA]:
        attributes = element.attributes
        name = attributes.get("name") or attributes.get("property") or attributes.get("http-equiv")
        content = _field(attributes.get("content") or "")
        if name and content:
            found[name[:_LONGEST_TEXT].strip().lower()].append(content)
    return {name: tuple(values) for name, values in found.items()}


def _names(element: Element) -> str:
    """Return the id and the classes of an element."""
    attributes = element.attributes
    return _field(f"{attributes.get('id') or ''} {attributes.get('class') or ''}")


def _field(text: str) -> str:
    return clean_line(text[:_LONGEST_TEXT])
