"""The fast way through HTML: selectolax on the lexbor parser."""

from selectolax.lexbor import LexborHTMLParser, LexborNode

from nwx.extract.clean import BLOCK
from nwx.extract.page import BLOCKS, CELLS, FORMATTING, HIDDEN, WANTED, Element, Outline

_TEXT, _BLOCK, _HIDDEN, _CELL, _WANTED = 1, 2, 4, 8, 16
_KINDS = {"-text": _TEXT} | {
    name: (name in BLOCKS) * _BLOCK
    | (name in HIDDEN) * _HIDDEN
    | (name in CELLS) * _CELL
    | (name in WANTED) * _WANTED
    for name in BLOCKS | HIDDEN | CELLS | WANTED
}
_TEXTS = frozenset({"-text", "-comment"})
_JOINED = FORMATTING | _TEXTS


def read_lexbor(html: str) -> Outline:
    """Return the text of a page, its blocks set apart, and the elements that say something."""
    # With scripting on, <noscript> is one raw text that is easily left out.
    tree = LexborHTMLParser(html, scripting=True)
    pieces: list[str] = []
    elements: list[tuple[str, Element]] = []
    if tree.root is not None:
        _empty(_walk(tree.root, pieces, elements))
    return Outline("".join(pieces), elements, tree)


def _walk(
    root: LexborNode, pieces: list[str], elements: list[tuple[str, Element]]
) -> list[LexborNode]:
    """Collect texts, with marks between them, and wanted elements; return what is not shown."""
    add = pieces.append
    silent: list[LexborNode] = []
    hidden = False
    for node in root.traverse(include_text=True, skip_empty=True):
        kind = _KINDS.get(tag := node.tag, 0)  # type: ignore[arg-type]
        if kind & _TEXT:
            if hidden and _is_hidden(node):
                continue
            hidden = False
            if (before := node.prev) is not None:
                add(_gap(before))
            add(node.text_content)  # type: ignore[arg-type]
            continue
        if kind & _BLOCK:
            add(BLOCK)
        elif (before := node.prev) is not None:
            add(_gap(before))
            if tag != "-comment" and before.tag not in (_JOINED if tag in FORMATTING else _TEXTS):
                add(" ")
        if kind & _CELL:
            add(" ")
        elif kind & _HIDDEN:
            hidden = True
            silent.append(node)
        if kind & _WANTED:
            elements.append((tag, node))  # type: ignore[arg-type]
    return silent


def _empty(nodes: list[LexborNode]) -> None:
    """Remove the texts of scripts and the like, lest they stand in those of links and headings."""
    for node in nodes:
        child = node.first_child
        # Only texts: an element inside may be one of the wanted, and must not be freed.
        if child is not None and child.tag == "-text" and node.tag != "title":
            child.decompose()


def _is_hidden(text: LexborNode) -> bool:
    parent = text.parent
    return parent is not None and parent.tag in HIDDEN


def _gap(before: LexborNode | None) -> str:
    """Return what lies between `before` and the node after it: a block's end, space, nothing.

    A block may end inside inline elements, and the walk leaves out texts
    of white space alone.
    """
    space = ""
    while before is not None:
        kind = _KINDS.get(before.tag, 0)  # type: ignore[arg-type]
        if kind & _BLOCK:
            return BLOCK
        if kind & _TEXT:
            if not before.is_empty_text_node:
                return space
            space = " "
            before = before.prev
        else:
            before = before.last_child
    return space
