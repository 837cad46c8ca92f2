"""Text, links and metadata of HTML, parsed by lexbor."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import chain, islice

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from nwx.extract.charset import decode
from nwx.extract.guard import crowded, disarm
from nwx.extract.links import RawLink, Resolver, element_links, outlinks
from nwx.extract.page import (
    BLOCKS,
    CELLS,
    FORMATTING,
    HEADINGS,
    HIDDEN,
    LINKED,
    STYLE_ATTRIBUTES,
    STYLE_ELEMENT,
    WANTED,
    Element,
    ExtractPayload,
    Outline,
    poor_page,
)
from nwx.extract.plain import inline_links
from nwx.extract.text import BLOCK, clean_blocks, clean_line, language_of, prose, signature_of
from nwx.model import Extract
from nwx.values.urls import IMG

_TEXT, _COMMENT, _BLOCK, _HIDDEN, _CELL, _WANTED, _FORMATTING = (1 << bit for bit in range(7))
_TEXTS = _TEXT | _COMMENT
_STYLED = 'style, [style*="("], [background]'
_JOINED = _TEXTS | _FORMATTING


def read_lexbor(html: str, mark: str = "") -> Outline:
    """Return a page's text, its blocks separated, and the relevant elements.

    `mark` is inserted into the text before each element of LINKED.
    """
    # With scripting on, the content of <noscript> is one raw text, which is easily skipped.
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
    """Yield the inline styles and backgrounds; attributes only if they may have a URL."""
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
    fresh = True  # no text since the last block mark, so that no other mark is needed
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
        # Only text nodes: an element inside may be a wanted one, which must not be freed.
        if child is not None and child.tag == "-text" and node.tag != "title":
            child.decompose()


def _is_hidden(text: LexborNode) -> bool:
    parent = text.parent
    return parent is not None and parent.tag in HIDDEN


def _gap(before: LexborNode | None, kind_of: Callable[[int, int], int]) -> str:
    """Return the gap between `before` and the node after it: block end, space or "".

    A block may end inside inline elements, and the walk omits whitespace-only texts.
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


_MOST_NOSCRIPTS = 1_000
_LONGEST_FIELD = 5_000  # characters of a title, heading, description or author
_DOCTYPE_XHTML = re.compile(r"\s*<\?xml\b")
_EMPTY_ELEMENT = re.compile(
    r"<(title|script|style|textarea|iframe|noscript|div|span|a|p|td|i|b)\b([^<>]*)/>", re.I
)


def extract_html(payload: ExtractPayload) -> Extract:
    """Return the extract of an HTML page."""
    html = decode(payload.data, payload.content_type, payload.charset)
    html, problems = disarm(repaired_html(html, payload.content_type), payload.limits)
    outline = outline_of(html, payload, problems)
    content, cut = clean_blocks(outline.text, payload.limits.characters)
    if cut:
        problems.append(f"text: cut after {payload.limits.characters} characters")
    about = outline.without_links()
    meta = _meta(about)
    resolver = Resolver(payload.url, _first(about, "base", "href"))
    raw = chain(element_links(outline), _noscript_images(outline), inline_links(outline))
    links, too_many = outlinks(raw, resolver, payload.limits.links)
    if too_many:
        problems.append(f"links: more than {payload.limits.links}, the rest was left out")
    late = payload.late()
    if late:
        problems.append(f"time: more than {payload.limits.seconds} seconds")
    found = Extract(
        title=page_title(about) or meta.get("og:title", ""),
        content=content,
        headings=_headings(about, payload.limits.headings),
        description=meta.get("description", "") or meta.get("og:description", ""),
        author=meta.get("author", "") or meta.get("dc.creator", ""),
        content_language=""
        if late
        else language_of(prose(content), declared_language(about, meta)),
        links=tuple(links),
        signature="" if late else signature_of(content),
    )
    return replace(found, problems=(*problems, *poor_page(found)))


def _noscript_images(outline: Outline) -> Iterator[RawLink]:
    """Yield the images within `<noscript>`, often those that are loaded lazily."""
    for markup in outline.noscripts[:_MOST_NOSCRIPTS]:
        if "<" in markup and not crowded(markup):
            inner = read_lexbor(markup)
            yield from (link for link in element_links(inner) if link[0] == IMG)


def repaired_html(html: str, content_type: str) -> str:
    """Return markup without NULs, and in XHTML with end tags for `<title/>` and the like."""
    if "\x00" in html:
        html = html.replace("\x00", "")
    if "xhtml" in content_type.lower() or _DOCTYPE_XHTML.match(html):
        html = _EMPTY_ELEMENT.sub(r"<\1\2></\1>", html)
    return html


def outline_of(html: str, payload: ExtractPayload, problems: list[str], mark: str = "") -> Outline:
    """Return the outline of markup sanitized by `disarm`.

    `mark` is inserted into the text before each link (`a` and `area`).
    """
    if payload.parser == "bs4":
        return _careful_outline(html, mark)
    if crowded(html):
        problems.append("markup: a tag of more than 1000 attributes, read by the careful parser")
        return _careful_outline(html, mark)
    try:
        return read_lexbor(html, mark)
    except (SelectolaxError, UnicodeError) as error:
        problems.append(f"markup: {error}, read by the careful parser")
        return _careful_outline(html, mark)


def _careful_outline(html: str, mark: str) -> Outline:
    from nwx.extract.soup import read_soup  # BeautifulSoup is slow to load, and rarely needed

    return read_soup(html, mark)


def _field(text: str | None) -> str:
    return clean_line(text[:_LONGEST_FIELD]) if text else ""


def page_title(outline: Outline) -> str:
    """Return the first title of a page that is not empty, "" if none."""
    titles = (_field(element.text()) for element in outline.named("title"))
    return next(filter(None, titles), "")


def _headings(outline: Outline, limit: int) -> tuple[str, ...]:
    found = (_field(element.text()) for tag, element in outline.elements if tag in HEADINGS)
    return tuple(islice(filter(None, found), limit))


def _first(outline: Outline, name: str, *attributes: str) -> str:
    """Return the first value of these attributes among the elements of a name, "" if none."""
    values = (e.attributes.get(attribute) for e in outline.named(name) for attribute in attributes)
    return next(filter(None, values), "")


def _meta(outline: Outline) -> dict[str, str]:
    """Return the contents of `<meta>` elements by lower-case name; the first of a name counts."""
    meta: dict[str, str] = {}
    for element in outline.named("meta"):
        attributes = element.attributes
        name = attributes.get("name") or attributes.get("property") or attributes.get("http-equiv")
        if name:
            meta.setdefault(name.strip().lower(), _field(attributes.get("content")))
    return meta


def declared_language(outline: Outline, meta: Mapping[str, str]) -> str:
    """Return the language that the page declares, "" if none."""
    return _first(outline, "html", "lang", "xml:lang") or meta.get("content-language", "")
