"""HTML and XHTML: title, text, headings, description, author, language, links."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain, islice

from selectolax.lexbor import SelectolaxError

from nwx.extract import lexbor
from nwx.extract.charset import decode
from nwx.extract.guard import crowded, disarm
from nwx.extract.links import RawLink, Resolver, element_links, outlinks
from nwx.extract.page import HEADINGS, ExtractPayload, Outline, poor_page
from nwx.extract.plain import inline_links
from nwx.extract.text import clean_blocks, clean_line, language_of, prose, signature_of
from nwx.model import Extract
from nwx.values.urls import IMG

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
    """Yield the images within `<noscript>`, which are often the lazily loaded ones."""
    for markup in outline.noscripts[:_MOST_NOSCRIPTS]:
        if "<" in markup and not crowded(markup):
            inner = lexbor.read_lexbor(markup)
            yield from (link for link in element_links(inner) if link[0] == IMG)


def repaired_html(html: str, content_type: str) -> str:
    """Return XHTML as an HTML parser can take it: `<title/>` would swallow the page."""
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
        return lexbor.read_lexbor(html, mark)
    except (SelectolaxError, UnicodeError) as error:
        problems.append(f"markup: {error}, read by the careful parser")
        return _careful_outline(html, mark)


def _careful_outline(html: str, mark: str) -> Outline:
    from nwx.extract.soup import read_soup  # BeautifulSoup takes long to load, and is rarely needed

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
    """Return the first value of any of the attributes at the elements of a name, "" if none."""
    values = (e.attributes.get(attribute) for e in outline.named(name) for attribute in attributes)
    return next(filter(None, values), "")


def _meta(outline: Outline) -> dict[str, str]:
    """Return the contents of the named <meta> elements; the first of a name counts."""
    meta: dict[str, str] = {}
    for element in outline.named("meta"):
        attributes = element.attributes
        name = attributes.get("name") or attributes.get("property") or attributes.get("http-equiv")
        if name:
            meta.setdefault(name.strip().lower(), _field(attributes.get("content")))
    return meta


def declared_language(outline: Outline, meta: Mapping[str, str]) -> str:
    """Return the language that the page names, "" if none."""
    return _first(outline, "html", "lang", "xml:lang") or meta.get("content-language", "")
