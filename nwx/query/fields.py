"""The fields that a query may name, their aliases, filters, facets and default weights."""

import re
import unicodedata
from enum import Enum
from functools import cache

from nwx.mappings import properties
from nwx.model import IndexName
from nwx.values.urls import host_parts

DEFAULT_FIELDS: dict[str, float] = {"title": 3.0, "headings": 1.5, "content": 1.0, "url_text": 1.0}
"""The fields searched for a word without a field, with their weights."""

ANCHOR = "anchor"
"""The field of anchor texts of the links to a document's URL, joined from inlinks."""

INLINK_COUNTS = {"inlinks": "documents", "linking_hosts": "hosts", "linking_domains": "domains"}
"""Fields that count the links to a document's URL, mapped to the attributes of LinkCounts."""

JOINED_FIELDS = {ANCHOR: "text", **dict.fromkeys(INLINK_COUNTS, "long")}
"""Query fields that are joined from inlinks, not stored in documents, with their types."""

CAPTURE_FIELDS = frozenset(
    {
        "collection",
        "timestamp",
        "crawl_date",
        "crawl_year",
        "source_file",
        "source_file_offset",
        "record_length",
        "server",
        "warc_ip",
        "last_modified",
        "last_modified_year",
    }
)
"""Fields that describe the capture from which a document's text was read, not the text.

They match no document for which that capture is hidden (`Question.hidden`).
"""

FILTERS = {
    "collection": "collection",
    "domain": "domain",
    "host": "host",
    "type": "content_type_norm",
    "status": "status_code",
    "language": "content_language",
    "year": "year",
    "puid": "puid",
    "generator": "generator",
    "license": "license_url",
    "published": "publication_year",
}
"""The filters of the command line, the pages and the API, mapped to their fields."""

ENRICHED_FACETS = ("puid", "generator", "license_url", "publication_year")
"""Fields of enrichers that can be counted and filtered: single values, equal for all captures of a
document."""

FACET_FIELDS = (
    "collection",
    "domain",
    "host",
    "content_type_norm",
    "content_type",
    "status_code",
    "content_language",
    "public_suffix",
    "year",
    *ENRICHED_FACETS,
)
"""Fields that can be counted and filtered; collection and year cover all dates of a document."""


_POSSESSIVE = re.compile(r"(?<=\w)['\u2018\u2019\uff07]s(?=\*?\Z)", re.IGNORECASE)
_HIDING = dict.fromkeys((0xAD, 0x200B, 0xFEFF))
_LIKE = 60.0
"""The least similarity, from 0 to 100, of a name that is suggested for an unknown one."""

ALIASES = {
    "site": "domain",
    "type": "content_type_norm",
    "mime": "content_type",
    "status": "status_code",
    "lang": "content_language",
    "language": "content_language",
    "text": "content",
    "inurl": "url_text",
    "suffix": "public_suffix",
    "tld": "public_suffix",
    "link": "links",
    "size": "content_length",
    "heading": "headings",
    "file": "source_file",
    "redirect": "redirect_to",
    "anchors": "anchor",
    "hash": "digest",
    "url_norm": "urlkey",
    "content_type_served": "content_type",
    "format": "puid",
    "license": "license_url",
    "licence": "license_url",
    "keyword": "keywords",
    "published": "publication_date",
    "modified": "last_modified",
    "ip": "warc_ip",
    "elements": "elements_used",
    "favicon": "favicon_hash",
}
"""Aliases of fields: shorter names, and those of SolrWayback."""

DATE_FIELDS = ("date", "dates", "year", "wayback_date")
"""Names of the pseudo-field for all dates of a document."""


_LOWER_CASE = frozenset(
    {
        "host",
        "domain",
        "public_suffix",
        "content_type",
        "content_type_norm",
        "content_language",
        "links_domains",
        "record_type",
        "puid",
        "content_type_ext",
        "keywords",
        "elements_used",
    }
)
"""Fields with values in lower case, regardless of case in the query."""

_HOSTS = ("host", "domain", "public_suffix")


class QueryFieldKind(Enum):
    """The kind of values of a field."""

    TEXT = "text"
    KEYWORD = "keyword"
    NUMBER = "number"
    DATE = "date"


_KINDS = {
    "text": QueryFieldKind.TEXT,
    "keyword": QueryFieldKind.KEYWORD,
    "integer": QueryFieldKind.NUMBER,
    "long": QueryFieldKind.NUMBER,
    "date": QueryFieldKind.DATE,
}


@cache
def _fields() -> dict[str, QueryFieldKind]:
    types = {
        name: mapping["type"]
        for name, mapping in properties(IndexName.DOCUMENTS).items()
        if mapping.get("index", True)
    }
    return {name: _KINDS[kind] for name, kind in (types | JOINED_FIELDS).items()}


def resolve_field(name: str) -> str | None:
    """Return the field of a name or alias (any case), "date" for all dates, None if unknown."""
    name = name.lower()
    if name in DATE_FIELDS:
        return "date"
    name = ALIASES.get(name, name)
    return name if name in _fields() else None


def kind(field: str) -> QueryFieldKind:
    """Return the kind of a field; "" stands for the default fields, which are text."""
    return _fields()[field] if field else QueryFieldKind.TEXT


def normal_value(field: str, text: str, *, is_pattern: bool = False) -> str:
    """Return a text normalized like the values of its field: NFC, lower case, IDNA.

    In text fields, soft hyphens are removed as at import, and the possessive 's from a pattern.
    """
    if kind(field) is QueryFieldKind.TEXT:
        text = unicodedata.normalize("NFC", text.translate(_HIDING))
        return _POSSESSIVE.sub("", text) if is_pattern else text
    return text.lower() if is_pattern and field in _LOWER_CASE else normal_name(field, text)


def normal_name(field: str, text: str) -> str:
    """Return a keyword normalized like the values of its field: lower case, hosts in IDNA."""
    if field in _HOSTS:
        return host_parts(text).host
    return text.lower() if field in _LOWER_CASE else text


def suggestion(name: str) -> str:
    """Return the known name most similar to an unknown one, "" if none is similar."""
    # Imported here: only a query with a wrong name needs it.
    from rapidfuzz import fuzz, process

    known = [*ALIASES, *DATE_FIELDS, *_fields()]
    found = process.extractOne(name.lower(), known, scorer=fuzz.ratio, score_cutoff=_LIKE)
    return found[0] if found else ""
