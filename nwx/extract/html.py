"""HTML and XHTML: title, text, headings, description, author, language, links."""

import re
from collections.abc import Iterator, Sequence

from selectolax.lexbor import SelectolaxError

from nwx.extract import lexbor, soup
from nwx.extract.charset import decode
from nwx.extract.clean import clean_blocks, clean_line
from nwx.extract.guard import crowded, tame
from nwx.extract.language import language_of
from nwx.extract.limits import Payload
from nwx.extract.links import RawLink, Resolver, candidates, outlinks
from nwx.extract.page import HEADINGS, LINKS, Element, Outline
from nwx.extract.signature import signature_of
from nwx.model import Extract

_LONGEST_FIELD = 5_000  # characters of a title, heading, description or author
_REFRESH = re.compile(r"^[\s\d.;,]*url\s*=\s*[\"']?([^\"'\s]+)", re.I)
_DOCTYPE_XHTML = re.compile(r"\s*<\?xml\b")
_EMPTY_ELEMENT = re.compile(
    r"<(title|script|style|textarea|iframe|noscript|div|span|a|p|td|i|b)\b([^<>]*)/>", re.I
)


def extract_html(payload: Payload) -> Extract:
    """Return what a page says."""
    html, _ = decode(payload.data, payload.content_type, payload.charset)
    html, problems = tame(_repaired(html, payload.content_type), payload.limits)
    outline = _outline(html, payload, problems)
    content, cut = clean_blocks(outline.text, payload.limits.characters)
    if cut:
        problems.append(f"text: cut after {payload.limits.characters} characters")
    meta = _meta(outline.elements)
    resolver = Resolver(payload.url, _base(outline.elements))
    links, too_many = outlinks(_raw_links(outline.elements), resolver, payload.limits.links)
    if too_many:
        problems.append(f"links: more than {payload.limits.links}, the rest was left out")
    late = payload.late()
    if late:
        problems.append(f"time: more than {payload.limits.seconds} seconds")
    return Extract(
        title=_title(outline.elements) or meta.get("og:title", ""),
        content=content,
        headings=_headings(outline.elements, payload.limits.headings),
        description=meta.get("description", "") or meta.get("og:description", ""),
        author=meta.get("author", "") or meta.get("dc.creator", ""),
        content_language="" if late else language_of(content, _declared(outline.elements, meta)),
        links=tuple(links),
        signature="" if late else signature_of(content),
        problems=tuple(problems),
    )


def _repaired(html: str, content_type: str) -> str:
    """Return XHTML as an HTML parser can take it: `<title/>` would swallow the page."""
    if "\x00" in html:
        html = html.replace("\x00", "")
    if "xhtml" in content_type.lower() or _DOCTYPE_XHTML.match(html):
        html = _EMPTY_ELEMENT.sub(r"<\1\2></\1>", html)
    return html


def _outline(html: str, payload: Payload, problems: list[str]) -> Outline:
    if payload.parser == "bs4":
        return soup.read(html)
    if crowded(html):
        problems.append("markup: a tag of more than 1000 attributes, read by the careful parser")
        return soup.read(html)
    try:
        return lexbor.read(html)
    except (SelectolaxError, UnicodeError) as error:
        problems.append(f"markup: {error}, read by the careful parser")
        return soup.read(html)


def _field(text: str | None) -> str:
    return clean_line(text[:_LONGEST_FIELD]) if text else ""


def _title(elements: Sequence[Element]) -> str:
    for element in elements:
        if element.tag == "title" and (title := _field(element.text())):
            return title
    return ""


def _headings(elements: Sequence[Element], limit: int) -> tuple[str, ...]:
    found = (_field(element.text()) for element in elements if element.tag in HEADINGS)
    return tuple(heading for heading in found if heading)[:limit]


def _meta(elements: Sequence[Element]) -> dict[str, str]:
    """Return the contents of the named <meta> elements; the first of a name counts."""
    meta: dict[str, str] = {}
    for element in elements:
        if element.tag == "meta":
            attributes = element.attributes
            name = attributes.get("name") or attributes.get("property")
            name = (name or attributes.get("http-equiv") or "").strip().lower()
            if name and name not in meta:
                meta[name] = _field(attributes.get("content"))
    return meta


def _declared(elements: Sequence[Element], meta: dict[str, str]) -> str:
    """Return the language that the page names, "" if none."""
    for element in elements:
        if element.tag == "html":
            attributes = element.attributes
            named = attributes.get("lang") or attributes.get("xml:lang")
            if named:
                return named
    return meta.get("content-language", "")


def _base(elements: Sequence[Element]) -> str:
    for element in elements:
        if element.tag == "base" and (href := element.attributes.get("href")):
            return href
    return ""


def _raw_links(elements: Sequence[Element]) -> Iterator[RawLink]:
    for element in elements:
        tag = element.tag or ""
        name = LINKS.get(tag)
        if name is None:
            if tag == "meta":
                yield from _refresh(element)
            continue
        attributes = element.attributes
        if value := attributes.get(name):
            yield tag, value, element.text() if tag == "a" else attributes.get("alt") or ""
        if tag in {"img", "source"} and (srcset := attributes.get("srcset")):
            for value in candidates(srcset):
                yield tag, value, attributes.get("alt") or ""


def _refresh(meta: Element) -> Iterator[RawLink]:
    attributes = meta.attributes
    if (attributes.get("http-equiv") or "").strip().lower() != "refresh":
        return
    if match := _REFRESH.match(attributes.get("content") or ""):
        yield "meta", match[1], ""
