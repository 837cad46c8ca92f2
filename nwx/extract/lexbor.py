"""The fast way through HTML: selectolax on the lexbor parser."""

from collections.abc import Callable, Iterator
from functools import cache

from selectolax.lexbor import LexborHTMLParser, LexborNode

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

_TEXT, _COMMENT, _BLOCK, _HIDDEN, _CELL, _WANTED, _FORMATTING = (1 << bit for bit in range(7))
_TEXTS = _TEXT | _COMMENT
_STYLED = 'style, [style*="("], [background]'
_JOINED = _TEXTS | _FORMATTING


def read_lexbor(html: str, mark: str = "") -> Outline:
    """Return a page's text, its blocks separated, and the relevant elements.

    `mark` is inserted into the text before each element of LINKED.
    """
    # With scripting on, <noscript> is one raw text that is easily left out.
    tree = LexborHTMLParser(html, scripting=True)
    pieces: list[str] = []
    elements: list[tuple[str, Element]] = []
    styles: list[tuple[str, str]] = []
    noscripts: list[str] = []
    if tree.root is not None:
        silent = _walk(tree.root, pieces, elements, mark)
        styles = list(_styles(tree))
        noscripts = [node.text() for node in silent if node.tag == "noscript"]
        _empty(silent)
    return Outline("".join(pieces), elements, tree, styles, noscripts)


def _styles(tree: LexborHTMLParser) -> Iterator[tuple[str, str]]:
    """Yield the inline styles and backgrounds; attributes only where they may hold a URL."""
    for node in tree.css(_STYLED):
        if node.tag == "style":
            yield STYLE_ELEMENT, node.text()
        attributes = node.attributes
        for place in STYLE_ATTRIBUTES:
            if value := attributes.get(place):
                yield place, value


@cache
def _kinds() -> dict[int, int]:
    """Return the kinds of nodes (block, hidden, text, ...) by lexbor's tag number."""
    tree = LexborHTMLParser("x<!-- -->")
    kinds: dict[int, int] = {}
    for node in tree.root.traverse(include_text=True) if tree.root else ():
        kinds[node.tag_id] = {"-text": _TEXT, "-comment": _COMMENT}.get(node.tag or "", 0)
    for kind, names in (
        (_BLOCK, BLOCKS),
        (_HIDDEN, HIDDEN),
        (_CELL, CELLS),
        (_WANTED, WANTED),
        (_FORMATTING, FORMATTING),
    ):
        for name in names:
            number = tree.create_node(name).tag_id
            kinds[number] = kinds.get(number, 0) | kind
    return kinds


def _walk(
    root: LexborNode, pieces: list[str], elements: list[tuple[str, Element]], mark: str
) -> list[LexborNode]:
    """Collect texts, with marks between them, and wanted elements; return the hidden nodes."""
    add, kind_of = pieces.append, _kinds().get
    silent: list[LexborNode] = []
    hidden = False
    fresh = True  # no text since the last mark of a block, so that no other mark matters
    for node in root.traverse(include_text=True, skip_empty=True):
        kind = kind_of(node.tag_id, 0)
        if kind == _TEXT:
            if hidden and _is_hidden(node):
                continue
            hidden = False
            if not fresh and (before := node.prev) is not None:
                add(_gap(before, kind_of))
            fresh = False
            add(node.text_content)  # type: ignore[arg-type]
            continue
        if fresh:
            pass
        elif kind & _BLOCK:
            add(BLOCK)
            fresh = True
        elif (before := node.prev) is not None:
            earlier = kind_of(before.tag_id, 0)
            if earlier != _TEXT or before.is_empty_text_node:
                add(_gap(before, kind_of))
                if not (kind == _COMMENT or earlier & (_JOINED if kind & _FORMATTING else _TEXTS)):
                    add(" ")
        if kind & (_HIDDEN | _CELL | _WANTED):
            if kind & _CELL:
                add(" ")
            elif kind & _HIDDEN:
                hidden = True
                silent.append(node)
            if kind & _WANTED:
                elements.append((node.tag, node))  # type: ignore[arg-type]
                if mark and node.tag in LINKED:
                    add(mark)
    return silent


def _empty(nodes: list[LexborNode]) -> None:
    """Remove the texts of scripts and similar nodes, to keep link and heading texts clean."""
    for node in nodes:
        child = node.first_child
        # Only texts: an element inside may be one of the wanted, and must not be freed.
        if child is not None and child.tag == "-text" and node.tag != "title":
            child.decompose()


def _is_hidden(text: LexborNode) -> bool:
    parent = text.parent
    return parent is not None and parent.tag in HIDDEN


def _gap(before: LexborNode | None, kind_of: Callable[[int, int], int]) -> str:
    """Return the gap between `before` and the node after it: block end, space or "".

    A block may end inside inline elements, and the walk omits texts of white space only.
    """
    space = ""
    while before is not None:
        kind = kind_of(before.tag_id, 0)
        if kind & _BLOCK:
            return BLOCK
        if kind != _TEXT:
            before = before.last_child
        elif before.is_empty_text_node:
            space = " "
            before = before.prev
        else:
            return space
    return space
