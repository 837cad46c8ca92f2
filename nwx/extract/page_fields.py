"""Fields declared in HTML: generator, licence, keywords, dates; and counts of elements.

Markup is scanned in linear time instead of parsed again: elements are counted as written, except
within comments, scripts and styles.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from functools import cached_property
from html import unescape
from typing import Any
from urllib.parse import urljoin

import msgspec

from nwx.extract.text import clean_line

_MOST_CHARACTERS = 4_000_000
_TAG_CHARACTERS = 4_000
_VALUE_CHARACTERS = 300
_MOST_KEYWORDS, _KEYWORD_CHARACTERS = 50, 100
_MOST_ELEMENTS = 150
_MOST_SCRIPTS, _SCRIPT_CHARACTERS = 20, 500_000
_MOST_NODES, _MOST_DEPTH = 2_000, 8
_MOST_TAGS = 5_000
_FIRST_YEAR = 1990

_UNREAD = re.compile(
    r"<!--[^-]*+(?:-(?!->)[^-]*+)*+|<(script|style)\b[^<>]*+>[^<]*+(?:<(?!/\1)[^<]*+)*+", re.I
)
_NAMES = re.compile(r"<([a-zA-Z][a-zA-Z0-9-]*+)")  # half as fast with flags
_TELLING = re.compile(r"<(?=[mltMLT])(meta|link|time)\b", re.I)
_ANCHOR = re.compile(r"<a\b", re.I)
_LICENSING = ("license", "creativecommons")
_ATTRIBUTE = re.compile(
    r"[\s/]*+([^\s=>\"'/]++)(?:\s*+=\s*+(?:\"([^\"]*+)\"|'([^']*+)'|([^\s>]++)))?+"
)
_LINKED_DATA = re.compile(r"<script\b(?=[^<>]*ld\+json)[^<>]*+>(.*?)(?:</script|\Z)", re.I | re.S)
_CREATIVE_COMMONS = re.compile(
    r"(?:https?:)?//(?:www\.)?creativecommons\.org/"
    r"((?:licenses|publicdomain)/[a-z+-]+(?:/\d\.\d(?:/[a-z]{2,3}(?![a-z]))?)?)",
    re.I,
)

PUBLISHED_NAMES = (
    "article:published_time",
    "og:published_time",
    "og:article:published_time",
    "datepublished",
    "dcterms.issued",
    "dc.date.issued",
    "dcterms.date",
    "dc.date",
    "dcterms.created",
    "dc.date.created",
    "citation_publication_date",
    "citation_date",
    "parsely-pub-date",
    "sailthru.date",
    "publication_date",
    "publish_date",
    "publish-date",
    "pubdate",
    "date",
)
"""Names of `<meta>` elements with the date of publication, the best evidence first."""

MODIFIED_NAMES = (
    "article:modified_time",
    "og:updated_time",
    "datemodified",
    "dcterms.modified",
    "dc.date.modified",
    "last-modified",
    "revised",
)
"""Names of `<meta>` elements with the date of the last change, the best evidence first."""


class PageMarkup:
    """The declarations of a page, each read on first use."""

    def __init__(self, html: str, url: str) -> None:
        self._html, self._url = html[:_MOST_CHARACTERS], url

    @cached_property
    def _visible(self) -> str:
        return _UNREAD.sub(r"<\1>", self._html)  # comments become `<>`, which is not a tag

    @cached_property
    def _tags(self) -> list[tuple[str, Mapping[str, str]]]:
        """The `<meta>`, `<link>` and `<time>` elements with their attributes, in order."""
        found = _TELLING.finditer(self._visible)
        return [
            (tag[1].lower(), self._attributes(tag.end()))
            for tag, _ in zip(found, range(_MOST_TAGS), strict=False)
        ]

    def _attributes(self, start: int) -> Mapping[str, str]:
        text = self._visible[start : start + _TAG_CHARACTERS]
        found: dict[str, str] = {}
        place = 0
        while one := _ATTRIBUTE.match(text, place):
            place = one.end()
            value = one[2] or one[3] or one[4] or ""
            found.setdefault(one[1].lower(), unescape(value) if "&" in value else value)
        return found

    @cached_property
    def _metas(self) -> Mapping[str, tuple[str, ...]]:
        """The contents of named `<meta>` elements, in order."""
        found: dict[str, list[str]] = {}
        for tag, attributes in self._tags:
            if tag == "meta" and (content := attributes.get("content")):
                for key in ("name", "property", "itemprop", "http-equiv"):
                    if name := attributes.get(key, "").strip().lower():
                        found.setdefault(name, []).append(content)
        return {name: tuple(contents) for name, contents in found.items()}

    @cached_property
    def _linked_data(self) -> list[Mapping[str, Any]]:
        """The objects of JSON-LD, outer ones first."""
        if "ld+json" not in self._html:
            return []
        nodes: list[Mapping[str, Any]] = []
        scripts = zip(_LINKED_DATA.finditer(self._html), range(_MOST_SCRIPTS), strict=False)
        for script, _ in scripts:
            nodes += _objects(script[1])
        return nodes[:_MOST_NODES]

    def generator(self) -> str:
        """Return the software that generated the page, as declared, "" if none."""
        return _first(map(_short, self._metas.get("generator", ())))

    def license(self) -> str:
        """Return the address of the licence, "" if none.

        From JSON-LD, else `rel=license`, else the first link to a Creative Commons licence.
        """
        return _first(map(self._license, self._licenses()))

    def _licenses(self) -> Iterator[str]:
        for node in self._linked_data:
            value = node.get("license")
            for one in value if isinstance(value, list) else [value]:
                found = one.get("url") or one.get("@id") if isinstance(one, dict) else one
                if isinstance(found, str) and found.lower().startswith(("http:", "https:", "//")):
                    yield found
        links = [attributes for tag, attributes in self._tags if tag == "link"]
        links += [self._attributes(start + 2) for start in self._licensing_anchors()]
        for attributes in links:
            if "license" in attributes.get("rel", "").lower().split():
                yield attributes.get("href", "")
        for attributes in links:
            if _CREATIVE_COMMONS.match(attributes.get("href", "").strip()):
                yield attributes["href"]

    def _licensing_anchors(self) -> list[int]:
        """Return the positions of anchors that may refer to a licence."""
        html, found = self._visible, set[int]()
        for word in _LICENSING:
            place = html.find(word)
            while place >= 0 and len(found) < _MOST_TAGS:
                start = html.rfind("<", max(0, place - _TAG_CHARACTERS), place)
                if start >= 0 and _ANCHOR.match(html, start) and html.find(">", start, place) < 0:
                    found.add(start)
                place = html.find(word, place + len(word))
        return sorted(found)

    def _license(self, address: str) -> str:
        address = address.strip()
        if known := _CREATIVE_COMMONS.match(address):
            return f"https://creativecommons.org/{known[1].lower()}/"
        try:
            found = urljoin(self._url, address) if address else ""
        except ValueError:
            return ""
        return found if found.startswith(("http:", "https:")) and len(found) <= 1000 else ""

    def keywords(self) -> tuple[str, ...]:
        """Return the keywords in `<meta>` and JSON-LD, in lower case, each once."""
        texts = [*self._metas.get("keywords", ()), *self._metas.get("news_keywords", ())]
        for node in self._linked_data:
            value = node.get("keywords")
            texts += [one for one in (value if isinstance(value, list) else [value]) if one]
        tags = [*self._metas.get("article:tag", ())]
        words = [word for text in texts if isinstance(text, str) for word in _split(text)] + tags
        found = (clean_line(one.lower()) for one in words if len(one) <= _KEYWORD_CHARACTERS)
        return tuple(dict.fromkeys(filter(None, found)))[:_MOST_KEYWORDS]

    def published(self, timestamp: str) -> str:
        """Return the date of publication, "" if none before the capture is declared.

        From JSON-LD, else `<meta>` (PUBLISHED_NAMES), else `<time>`.
        """
        return self._date(timestamp, "datePublished", PUBLISHED_NAMES, any_time=True)

    def modified(self, timestamp: str) -> str:
        """Return the date of the last change, found in the same way (MODIFIED_NAMES)."""
        return self._date(timestamp, "dateModified", MODIFIED_NAMES, any_time=False)

    def _date(self, timestamp: str, term: str, names: Iterable[str], *, any_time: bool) -> str:
        told = [node.get(term) for node in self._linked_data]
        told += [content for name in names for content in self._metas.get(name, ())]
        times = [attributes for tag, attributes in self._tags if tag == "time"]
        told += [one.get("datetime") for one in times if one.get("itemprop") == term]
        if any_time:
            told += [one.get("datetime") for one in times if "pubdate" in one]
            told += [one.get("datetime") for one in times if "itemprop" not in one]
        return _first(evident_date(one, timestamp) for one in told if isinstance(one, str))

    def elements(self) -> tuple[tuple[str, int], ...]:
        """Return the names and counts of elements, most frequent first."""
        counts = Counter[str]()
        for name, count in Counter(_NAMES.findall(self._visible)).items():
            counts[name.lower()] += count
        ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
        return tuple(pair for pair in ordered if len(pair[0]) <= 64)[:_MOST_ELEMENTS]


def evident_date(text: str, timestamp: str) -> str:
    """Return a date as 2014-03-25T12:17:32Z, "" if it is invalid or later than a capture.

    Reads ISO 8601, also with slashes or dots, and HTTP dates. Without a time zone, it is UTC.
    """
    text = text.strip()[:40]
    moment = _moment(text)
    if moment is None:
        return ""
    try:
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        captured = datetime.strptime(timestamp, "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return ""
    if moment.year < _FIRST_YEAR or moment > captured + timedelta(days=1):
        return ""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


_DAY = re.compile(r"(\d{4})[./](\d{1,2})[./](\d{1,2})(?!\d)(.*)", re.S)


def _moment(text: str) -> datetime | None:
    if day := _DAY.fullmatch(text):
        text = f"{day[1]}-{int(day[2]):02}-{int(day[3]):02}{day[4]}"
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _objects(text: str) -> Iterator[Mapping[str, Any]]:
    """Yield the objects of a JSON text, breadth first; none if it is invalid."""
    if len(text) > _SCRIPT_CHARACTERS:
        return
    try:
        level: list[Any] = [msgspec.json.decode(text.strip().rstrip(";"), strict=False)]
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return
    for _ in range(_MOST_DEPTH):
        below: list[Any] = []
        for value in level[:_MOST_NODES]:
            if isinstance(value, dict):
                yield value
                below += value.values()
            elif isinstance(value, list):
                below += value
        level = [one for one in below if isinstance(one, dict | list)]


def _split(text: str) -> list[str]:
    return re.split(r"[,;\n\u3001\uff0c]", text[:20_000])


def _short(text: str) -> str:
    return clean_line(text[:_VALUE_CHARACTERS])


def _first(values: Iterable[str]) -> str:
    return next(filter(None, values), "")
