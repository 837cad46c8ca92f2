"""The careful HTML parser: BeautifulSoup on lxml, twenty times slower than lexbor."""

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Self

from bs4 import (
    BeautifulSoup,
    MarkupResemblesLocatorWarning,
    Tag,
    XMLParsedAsHTMLWarning,
)
from bs4.element import NavigableString

from nwx.extract.page import (
    BLOCKS,
    CELLS,
    FORMATTING,
    HIDDEN,
    LINKED,
    STYLE_ATTRIBUTES,
    STYLE_ELEMENT,
    WANTED,
    Element,
    Outline,
)
from nwx.extract.text import BLOCK

_MOST_EVENTS = 200  # read for an element's text; broken pages nest links


@dataclass(frozen=True, slots=True)
class _SoupElement:
    """A BeautifulSoup tag as an `Element`."""

    node: Tag

    @property
    def tag(self) -> str:
        return self.node.name

    @property
    def mem_id(self) -> int:
        return id(self.node)

    @property
    def parent(self) -> Self | None:
        parent = self.node.parent
        return None if parent is None else type(self)(parent)

    @property
    def attributes(self) -> Mapping[str, str]:
        return {name: str(value) for name, value in self.node.attrs.items()}

    attrs = attributes

    def text(self) -> str:
        near = islice(_events(self.node), _MOST_EVENTS)
        return "".join(str(node) for event, node in near if event == "text")


def read_soup(html: str, mark: str = "") -> Outline:
    """Return a page's text, its blocks separated, and the relevant elements.

    `mark` is inserted into the text before each element of LINKED.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", MarkupResemblesLocatorWarning)
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        soup = BeautifulSoup(html, "lxml", multi_valued_attributes=None)
    elements: list[tuple[str, Element]] = []
    styles: list[tuple[str, str]] = []
    noscripts: list[str] = []
    pieces = []
    for event, node in _events(soup):
        if isinstance(node, Tag):
            pieces.append(_mark(node.name))
            if event == "open":
                pieces.append(_space(node))
                styles += _styles(node)
                if node.name == "noscript":
                    noscripts.append(node.decode_contents())
                if node.name in WANTED:
                    elements.append((node.name, _SoupElement(node)))
                if node.name in LINKED:
                    pieces.append(mark)
        else:
            pieces.append(str(node))
    return Outline("".join(pieces), elements, soup, styles, noscripts)


def _styles(node: Tag) -> Iterator[tuple[str, str]]:
    """Yield the content of a `<style>`, and an element's style and background attributes."""
    if node.name == "style":
        yield STYLE_ELEMENT, node.string or ""
    for place in STYLE_ATTRIBUTES:
        if value := node.get(place):
            yield place, str(value)


def _mark(name: str) -> str:
    if name in BLOCKS:
        return BLOCK
    return " " if name in CELLS else ""


def _space(node: Tag) -> str:
    """Return the separator between an element and the element directly before it."""
    before = node.previous_sibling
    if not isinstance(before, Tag):
        return ""
    return "" if node.name in FORMATTING and before.name in FORMATTING else " "


def _events(root: Tag) -> Iterator[tuple[str, Tag | NavigableString]]:
    """Yield openings, closings and visible texts below `root`, in order, without recursion."""
    stack = [(root, iter(root.contents))]
    while stack:
        parent, children = stack[-1]
        child = next(children, None)
        if child is None:
            stack.pop()
            yield "close", parent
        elif isinstance(child, Tag):
            yield "open", child
            stack.append((child, iter(() if child.name in HIDDEN else child.contents)))
        elif type(child) is NavigableString:  # not a comment or declaration
            yield "text", child
