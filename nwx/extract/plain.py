"""Plain text, and feeds and other XML as the text between their tags."""

import re
from html import unescape

from nwx.extract.charset import decode
from nwx.extract.page import ExtractPayload
from nwx.extract.text import BLOCK, clean_blocks, clean_line, language_of, prose, signature_of
from nwx.model import Extract

_XML = re.compile(r"\s*<(?:\?xml|rss|feed|rdf:RDF)\b")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)\]\]>", re.S)
_TAG = re.compile(r"<[^>]*>")
_TITLE = re.compile(r"<(?:\w+:)?title\b[^>]*>(.{1,5000}?)</", re.S)
_RULE = re.compile(r"[-=_*~#.\s]+")  # a line of decoration
_LONGEST_TITLE = 200


def extract_plain(payload: ExtractPayload) -> Extract:
    """Return a text as it is, XML without its markup; its title is the first line of a text."""
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
    """Return the text of XML, lines where tags were; the HTML inside a feed loses its tags too."""
    text = _TAG.sub("\n", _CDATA.sub(r"\1", xml))
    text = unescape(text)
    return unescape(_TAG.sub(" ", text)) if "<" in text else text


def _first_line(content: str) -> str:
    for line in content.split("\n", 20)[:20]:
        if not _RULE.fullmatch(line):
            return line if len(line) <= _LONGEST_TITLE else ""
    return ""
