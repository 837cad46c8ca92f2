"""The fast way through HTML: selectolax on the lexbor parser."""

from selectolax.lexbor import LexborHTMLParser, LexborNode

from nwx.extract.clean import BLOCK
from nwx.extract.page import BLOCKS, CELLS, HIDDEN, WANTED, Element, Outline


def read(html: str) -> Outline:
    """Return the text of a page, its blocks set apart, and the elements that say something."""
    # With scripting on, <noscript> is one raw text that is easily left out.
    tree = LexborHTMLParser(html, scripting=True)
    elements: list[Element] = []
    pieces: list[str] = []
    root = tree.root
    if root is None:
        return Outline("", (), tree)
    hidden = False
    for node in root.traverse(include_text=True):
        tag = node.tag
        if tag == "-text":
            if hidden and _is_hidden(node):
                continue
            hidden = False
            if _after_block(node):
                pieces.append(BLOCK)
            pieces.append(node.text_content or "")
        elif tag in BLOCKS:
            pieces.append(BLOCK)
            if tag in WANTED:
                elements.append(node)
        else:
            if tag in HIDDEN:
                hidden = True
            elif tag in CELLS:
                pieces.append(" ")
            elif _after_block(node):
                pieces.append(BLOCK)
            if tag in WANTED:
                elements.append(node)
    return Outline("".join(pieces), tuple(elements), tree)


def _is_hidden(text: LexborNode) -> bool:
    parent = text.parent
    return parent is not None and parent.tag in HIDDEN


def _after_block(node: LexborNode) -> bool:
    """Return whether a block ends right before `node`, be it inside inline elements."""
    before = node.prev
    while before is not None:
        tag = before.tag
        if tag == "-text":
            return False
        if tag in BLOCKS:
            return True
        before = before.last_child
    return False
