"""Extraction of plain text, of the text of feeds and other XML, and of style sheets' URLs."""

import re
from collections.abc import Iterator
from html import unescape

from nwx.extract.charset import decode
from nwx.extract.links import RawLink, Resolver, outlinks
from nwx.extract.page import ExtractPayload, Outline
from nwx.extract.text import BLOCK, clean_blocks, clean_line, language_of, prose, signature_of
from nwx.model import Extract
from nwx.values.media_types import FOR_ROBOTS
from nwx.values.urls import CSS, IMG, STYLESHEET

_XML = re.compile(r"\s*<(?:\?xml|rss|feed|rdf:RDF)\b")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.S)
_TAG = re.compile(r"<[^>]*>")
_TITLE = re.compile(r"<(?:\w+:)?title\b[^>]*>(.{1,5000}?)</", re.S)
_RULE = re.compile(r"[-=_*~#.\s]+")  # a line of decoration
_LONGEST_TITLE = 200


def extract_plain(payload: ExtractPayload) -> Extract:
    """Return the extract of text, titled by its first line, or of XML without its markup."""
    text = decode(payload.data, payload.content_type, payload.charset)
    text = text.replace(BLOCK, "")
    is_xml = _XML.match(text) is not None
    title = _xml_title(text) if is_xml else ""
    if is_xml:
        text = _without_markup(text)
    limit = payload.limits.characters
    content, cut = clean_blocks(BLOCK.join(text.splitlines()), limit)
    late = payload.late()
    problems = [f"text: cut after {limit} characters"] if cut else []
    problems += [FOR_ROBOTS] if payload.url.endswith("/robots.txt") else []
    return Extract(
        title=title or ("" if is_xml else _first_line(content)),
        content=content,
        content_language="" if late else language_of(prose(content)),
        signature="" if late else signature_of(content),
        problems=tuple(problems),
    )


def _xml_title(xml: str) -> str:
    match = _TITLE.search(xml)
    return clean_line(_without_markup(match[1])) if match else ""


def _without_markup(xml: str) -> str:
    """Return the text of XML, with tags as line breaks; HTML inside a feed loses its tags too."""
    text = _TAG.sub("\n", _CDATA.sub(r"\1", xml))
    text = unescape(text)
    return unescape(_TAG.sub(" ", text)) if "<" in text else text


def _first_line(content: str) -> str:
    for line in content.split("\n", 20)[:20]:
        if not _RULE.fullmatch(line):
            return line if len(line) <= _LONGEST_TITLE else ""
    return ""


_STRING = r""""(?:[^"\\\n\r\f]++|\\(?:\r\n|[\s\S]))*+"?|'(?:[^'\\\n\r\f]++|\\(?:\r\n|[\s\S]))*+'?"""
_ESCAPED = r"\\(?:[0-9a-f]{1,6}+(?:\r\n|\s)?|[^\n\r\f])"
_BARE = rf"""(?:[^\\)"'(\s]++|{_ESCAPED})*+"""
_REST = r"(?:[^)\\]++|\\[\s\S]?)*+\)?"  # of an invalid URL, with a quote or blank inside
_TYPE = r"type\([^)]{0,200}+\)"
_GAP = r"(?:\s|/\*[\s\S]*?\*/)*+"
_FLAGS = re.IGNORECASE | re.ASCII
# Tokens that can contain a URL, and tokens that can contain a look-alike.
_TOKENS = re.compile(
    rf"/\*[\s\S]*?(?:\*/|\Z)"
    rf"|@import{_GAP}(?P<imported>{_STRING})"
    rf"|(?P<rule>@import{_GAP})?+(?<![\w-])url\(\s*+"
    rf"(?:(?P<quoted>{_STRING})|(?P<bare>{_BARE})\s*+(?:\)|\Z|(?P<bad>{_REST})))"
    rf"|@namespace\b(?:{_STRING}|[^;{{\"'])*+"
    rf"|image-set\((?P<set>(?:{_STRING}|url\(\s*+(?:{_STRING}|{_BARE})\s*+\)|{_TYPE}|[^()\"'])*+)"
    rf"|{_STRING}|{_ESCAPED}(?:[\w-]|{_ESCAPED})*+",
    _FLAGS,
)
_IN_SET = re.compile(rf"url\(\s*+(?:({_STRING})|({_BARE}))\s*+\)|{_TYPE}|({_STRING})", _FLAGS)
_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})(?:\r\n|\s)?|(?:\r\n|[\n\r\f])|([\s\S]))", _FLAGS)
_CHARSET = re.compile(rb"""@charset "([\w.:-]{2,40})";""")


def extract_stylesheet(payload: ExtractPayload) -> Extract:
    """Return the links of a style sheet, without text."""
    named = _CHARSET.match(payload.data)
    charset = payload.charset or (named[1].decode("ascii", "replace") if named else "")
    css = decode(payload.data, payload.content_type, charset)
    limit = payload.limits.links
    links, too_many = outlinks(css_references(css), Resolver(payload.url), limit)
    problems = (f"links: more than {limit}, the rest was left out",) if too_many else ()
    return Extract(links=tuple(links), problems=problems)


def css_references(css: str) -> Iterator[RawLink]:
    """Yield the references of a style sheet or a `style` attribute as links without text."""
    for token in _TOKENS.finditer(css):
        if token["set"] is not None:
            for candidate in _IN_SET.finditer(token["set"]):
                if url := candidate[1] or candidate[2] or candidate[3]:
                    yield CSS, _plain(url), ""
        elif imported := token["imported"]:
            yield STYLESHEET, _plain(imported), ""
        elif (url := token["quoted"] or token["bare"]) and token["bad"] is None:
            yield (STYLESHEET if token["rule"] else CSS), _plain(url), ""


def _plain(token: str) -> str:
    """Return the value of a string or bare URL, without quotes and with escapes decoded."""
    text = token[1:].removesuffix(token[0]) if token[0] in ('"', "'") else token
    return _ESCAPE.sub(_character, text) if "\\" in text else text


def _character(escape: re.Match[str]) -> str:
    if not escape[1]:
        return escape[2] or ""
    code = int(escape[1], 16)
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code <= 0x10FFFF else "\ufffd"


_SIGNS = ("url(", "@import", "image-set(")


def inline_links(outline: Outline) -> Iterator[RawLink]:
    """Yield the links in inline styles of a page, and its background images."""
    for place, value in outline.styles:
        if place == "background":
            yield IMG, value, ""
        elif _may_load(value):
            yield from css_references(value)


def _may_load(css: str) -> bool:
    """Return whether a style has the start of a token that can contain a URL."""
    lower = css.lower()
    return any(sign in lower for sign in _SIGNS)
