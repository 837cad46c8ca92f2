"""The messages of the pages, from the sources and from the catalogues."""

import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import DEFAULT_KEYWORDS, extract_from_dir
from babel.messages.frontend import parse_mapping_cfg
from babel.messages.pofile import read_po

ROOT = Path(__file__).parent.parent.parent
TEMPLATES = (
    *(ROOT / "webapp" / "templates").glob("*.html"),
    *(ROOT / "webapp" / "replay" / "templates").glob("*.html"),
)
CATALOGUES = ROOT / "webapp" / "translations"
SOURCES = (ROOT / "webapp", ROOT / "nwx")
KEYWORDS = {
    **DEFAULT_KEYWORDS,
    "lazy_gettext": None,
    "lazy_pgettext": ((1, "c"), 2),
    "ErrorText": None,
    "translated": None,
}

_TAGS_AND_CODE = re.compile(
    r"\{#.*?#\}|\{% block body_class %\}.*?\{% endblock %\}|\{%-?\s*trans\b.*?endtrans\s*-?%\}"
    r"|\{%.*?%\}|\{\{.*?\}\}|<!--.*?-->"
    r"|<(?P<name>script|style|code|pre|kbd)\b.*?</(?P=name)>",
    re.DOTALL,
)
_TAG = re.compile(r"<[^>]*>")
_READ_ATTRIBUTE = re.compile(r'\b(?:aria-label|placeholder|alt|title)="([^"]*)"')
_WORD = re.compile(r"[A-Za-z]{2,}")
_BARE_PLURAL = re.compile(r"\{\{[^{}]*'[a-z ]+' if [^{}]+ == 1 else '[a-z ]+'[^{}]*\}\}")
_BARE_DEFAULT = re.compile(r"\{\{[^{}]* or '[A-Za-z][a-z ]+'[^{}]*\}\}")
SAME_EVERYWHERE = re.compile(
    r"\b(?:nwx|SVG|PNG|CSV|JSON|TOML|XML|TXT|WARC|WACZ|URL|URI|ms|[a-z]+\.example\.org|example\.org)\b"
)
"""Texts that are the same in every language."""


def source_messages() -> set[str | tuple[str, str]]:
    """Return the ids of all messages in the sources; one with a plural has both forms."""
    with (ROOT / "babel.cfg").open(encoding="utf-8") as file:
        methods, options = parse_mapping_cfg(file)
    return {
        message
        for folder in SOURCES
        for _, _, message, _, _ in extract_from_dir(folder, methods, options, KEYWORDS)
    }


def catalogue(language: str) -> Catalog:
    """Return the translations into a language."""
    path = CATALOGUES / language / "LC_MESSAGES" / "messages.po"
    with path.open("rb") as file:
        return read_po(file, locale=language)


def plain_texts(template: str) -> Iterator[str]:
    """Yield texts and read-out attributes in a template that are not messages."""
    for bare in (*_BARE_PLURAL.findall(template), *_BARE_DEFAULT.findall(template)):
        yield bare
    bare = _TAGS_AND_CODE.sub(" ", template)
    for text in (*_READ_ATTRIBUTE.findall(bare), *_TAG.split(bare)):
        if _WORD.search(SAME_EVERYWHERE.sub("", text)):
            yield text.strip()
