"""Triples stated in a page: JSON-LD, microdata, OpenGraph and Dublin Core."""

import json
import re
from collections.abc import Iterator
from string import whitespace
from typing import Any
from urllib.parse import urljoin

from pyoxigraph import NamedNode, RdfFormat, Triple, parse
from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from nwx.extract.charset import decode
from nwx.extract.guard import crowded, disarm
from nwx.extract.html import repaired_html
from nwx.steering.analysis.page_view import LIMITS, PageView
from nwx.steering.triples.terms import (
    LONGEST_LITERAL,
    RDF_TYPE,
    SCHEMA,
    RdfObject,
    TripleDraft,
    capture_iri,
    iri,
    literal,
    page_iri,
)

MOST_SCRIPTS = 50
LONGEST_SCRIPT = 512 << 10
_MOST_VALUES = 5_000
_DEEPEST_NODE = 24
_LONGEST_TEXT = 4_000

_IRI_TERMS = (
    "url sameAs image logo thumbnailUrl contentUrl embedUrl mainEntityOfPage isPartOf item "
    "license acceptsReservations additionalType relatedLink significantLink"
)
SCHEMA_CONTEXT = {
    "@vocab": SCHEMA,
    **{name: {"@id": SCHEMA + name, "@type": "@id"} for name in _IRI_TERMS.split()},
}
"""The needed part of schema.org's context: its terms, and which of them are addresses."""

_SCHEMA_ORG = re.compile(r"https?://(?:(?:www\.)?schema\.org\b|schema\.googleapis\.com)")
_STREAMS = re.compile(r"https?://www\.w3\.org/ns/activitystreams")
_KNOWN_CONTEXTS: tuple[tuple[re.Pattern[str], dict[str, Any]], ...] = (
    (_SCHEMA_ORG, SCHEMA_CONTEXT),
    (_STREAMS, {"@vocab": "https://www.w3.org/ns/activitystreams#"}),
)
_WRAPPING = re.compile(r"<!--|//\s*<!\[CDATA\[|/\*\s*<!\[CDATA\[\s*\*/|<!\[CDATA\[")
_WRAPPING_END = re.compile(r"(?:-->|//\s*\]\]>|/\*\s*\]\]>\s*\*/|\]\]>)\Z")
_BEHIND = whitespace + ";"


class _LargeScriptError(Exception):
    """A script with too many values, or nested too deeply."""


def read_json_ld(text: str, url: str, draft: TripleDraft) -> None:
    """Add the triples of one script to a draft."""
    if len(text) > LONGEST_SCRIPT:
        return
    try:
        # Line breaks in strings are invalid but common.
        value = json.loads(_unwrapped(text), strict=False)
        cleaned = json.dumps(_Cleaning().value(value, 0))
        quads = parse(
            cleaned,
            format=RdfFormat.JSON_LD,
            base_iri=url,
            lenient=True,
            rename_blank_nodes=True,  # scripts do not share them
        )
        for quad in quads:
            draft.add_unchecked(quad.triple)
            if draft.is_cut:
                break
    except (_LargeScriptError, RecursionError, ValueError, SyntaxError):
        return  # too large, or no JSON-LD


def _unwrapped(text: str) -> str:
    """Return a script without the comments that old browsers needed around it."""
    text = text.strip()
    if opening := _WRAPPING.match(text):
        text = text[opening.end() :]
    # Stripped without an expression, which would try each space of a long run.
    return _WRAPPING_END.sub("", text.rstrip(_BEHIND)).rstrip(_BEHIND)


class _Cleaning:
    """Bounds JSON-LD, and replaces addresses of known contexts by their content."""

    def __init__(self) -> None:
        self._values = 0

    def value(self, value: Any, depth: int) -> Any:
        """Return a value without imports and foreign contexts, long texts cut off."""
        self._values += 1
        if self._values > _MOST_VALUES or depth > _DEEPEST_NODE:
            raise _LargeScriptError
        if isinstance(value, dict):
            return {
                name: self._context(inner, depth + 1)
                if name == "@context"
                else self.value(inner, depth + 1)
                for name, inner in value.items()
                if name != "@import"
            }
        if isinstance(value, list):
            return [self.value(inner, depth + 1) for inner in value]
        return value[:_LONGEST_TEXT] if isinstance(value, str) else value

    def _context(self, value: Any, depth: int) -> Any:
        if isinstance(value, str):
            for pattern, known in _KNOWN_CONTEXTS:
                if pattern.match(value.strip()):
                    return known
            return {}  # nothing is fetched
        if isinstance(value, list):
            return [self._context(inner, depth + 1) for inner in value]
        if isinstance(value, dict):
            return {
                name: self.value(inner, depth + 1)
                for name, inner in value.items()
                if not (name == "@import" or (isinstance(inner, dict) and "@context" in inner))
            }
        return value


_MOST_ITEMS = 500
_MOST_VISITED = 20_000  # elements searched for properties
_MOST_CHARACTERS = 2_000_000  # of all texts together
_DEEPEST_ITEM = 32
_MOST_NAMES = 10

_ADDRESS_ATTRIBUTES = {
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    **dict.fromkeys(("a", "area", "link"), "href"),
    "object": "data",
}
_VALUES = {"meta": "content", "data": "value", "meter": "value"}


def read_microdata(tree: LexborHTMLParser, base: str, draft: TripleDraft) -> None:
    """Add the items of a page to a draft."""
    reading = _Reading(tree, base, draft)
    for element in tree.css("[itemscope]:not([itemprop])"):
        if draft.is_cut or reading.is_spent:
            break
        reading.item(element, "", 0)


class _Reading:
    """The items of one page, each read once, within bounds."""

    def __init__(self, tree: LexborHTMLParser, base: str, draft: TripleDraft) -> None:
        self._tree, self._base, self._draft = tree, base, draft
        self._subjects: dict[int, NamedNode] = {}
        self._visited = self._characters = 0

    @property
    def is_spent(self) -> bool:
        """Whether a limit of the page is reached."""
        return (
            len(self._subjects) >= _MOST_ITEMS
            or self._visited >= _MOST_VISITED
            or self._characters >= _MOST_CHARACTERS
        )

    def item(self, element: LexborNode, vocabulary: str, depth: int) -> NamedNode | None:
        """Read an item and its nested items; return its name."""
        known = self._subjects.get(element.mem_id)
        if known is not None:
            return known
        if self.is_spent or depth > _DEEPEST_ITEM:
            return None
        attributes = element.attributes
        named = attributes.get("itemid")
        subject = (self._address(named) if named else None) or self._draft.new_part()
        self._subjects[element.mem_id] = subject
        types = list(_types(attributes.get("itemtype") or ""))
        for each in types:
            self._draft.add(subject, RDF_TYPE, each)
        if types:
            vocabulary = _vocabulary(types[0].value)
        for place in self._properties(element):
            names = (place.attributes.get("itemprop") or "").split()[:_MOST_NAMES]
            predicates = [found for name in names if (found := _predicate(name, vocabulary))]
            value = self._value(place, vocabulary, depth) if predicates else None
            if value is not None:
                for predicate in predicates:
                    self._draft.add(subject, predicate, value)
        return subject

    def _properties(self, item: LexborNode) -> Iterator[LexborNode]:
        """Yield the property elements of an item, including the ones it refers to."""
        waiting = [*self._referred(item), *_children(item)]
        seen = {item.mem_id}
        while waiting and not self.is_spent:
            element = waiting.pop()
            if element.mem_id in seen:
                continue
            seen.add(element.mem_id)
            self._visited += 1
            attributes = element.attributes
            if "itemscope" not in attributes:
                waiting += _children(element)
            if attributes.get("itemprop"):
                yield element

    def _referred(self, item: LexborNode) -> Iterator[LexborNode]:
        for name in (item.attributes.get("itemref") or "").split()[:_MOST_NAMES]:
            if name.replace("-", "").replace("_", "").isalnum():
                self._visited += 100  # it may be anywhere in the page
                yield from self._tree.css(f'[id="{name}"]')[:1]

    def _value(self, element: LexborNode, vocabulary: str, depth: int) -> RdfObject | None:
        attributes, tag = element.attributes, element.tag or ""
        if "itemscope" in attributes:
            return self.item(element, vocabulary, depth + 1)
        if tag in _ADDRESS_ATTRIBUTES:
            return self._address(attributes.get(_ADDRESS_ATTRIBUTES[tag]) or "")
        if tag in _VALUES:
            text = attributes.get(_VALUES[tag]) or ""
        elif attributes.get("content"):
            text = attributes.get("content") or ""  # not in the standard, but common
        else:
            text = (attributes.get("datetime") if tag == "time" else "") or self._text(element)
        text = " ".join(text[: 2 * LONGEST_LITERAL].split())
        return literal(text) if text else None

    def _text(self, element: LexborNode) -> str:
        text = element.text()
        self._characters += len(text)
        return text

    def _address(self, reference: str) -> NamedNode | None:
        try:
            return iri(urljoin(self._base, reference.strip())) if reference.strip() else None
        except ValueError:
            return None


def _children(element: LexborNode) -> list[LexborNode]:
    """Return the child elements, the last first."""
    return list(element.iter(include_text=False))[::-1]


def _types(text: str) -> Iterator[NamedNode]:
    for word in text.split()[:_MOST_NAMES]:
        if (found := iri(word)) is not None:
            yield found


def _vocabulary(type_iri: str) -> str:
    """Return the prefix of the names of properties."""
    if type_iri.startswith(SCHEMA):
        return SCHEMA
    return type_iri[: max(type_iri.rfind("#"), type_iri.rfind("/")) + 1]


def _predicate(name: str, vocabulary: str) -> NamedNode | None:
    if ":" in name:
        return iri(name)
    return iri(vocabulary + name) if vocabulary else None


_NAMESPACES = {
    "og": "http://ogp.me/ns#",
    "article": "http://ogp.me/ns/article#",
    "book": "http://ogp.me/ns/book#",
    "profile": "http://ogp.me/ns/profile#",
    "music": "http://ogp.me/ns/music#",
    "video": "http://ogp.me/ns/video#",
    "fb": "http://ogp.me/ns/fb#",
    "dc": "http://purl.org/dc/elements/1.1/",
    "dcterms": "http://purl.org/dc/terms/",
}
_ADDRESS_METADATA = frozenset(
    ("og:url", "og:image", "og:image:url", "og:image:secure_url", "og:video", "og:audio")
)


def read_metadata(page: PageView, draft: TripleDraft) -> None:
    """Add the metadata of a page to a draft."""
    subject = page_iri(page.url)
    for name, values in page.metadata.items():
        predicate = _metadata_predicate(name)
        if predicate is None:
            continue
        for value in values:
            address = iri(value) if name in _ADDRESS_METADATA else None
            draft.add(subject, predicate, address or literal(value, ""))


def _metadata_predicate(name: str) -> NamedNode | None:
    """Return the property of a name like `og:title` or `dc.creator`."""
    prefix, sign, rest = name.partition(":" if ":" in name else ".")
    namespace = _NAMESPACES.get(prefix)
    if not (namespace and sign and rest):
        return None
    return iri(namespace + rest.replace(" ", ""))


_MARKS = (b"itemscope", b"ld+json")
_SCRIPT_TYPE = "application/ld+json"


def structured_triples(page: PageView) -> list[Triple]:
    """Return a page's triples from JSON-LD, microdata, OpenGraph and Dublin Core.

    In order, distinct, at most MOST_TRIPLES. Things without a name are named after the capture.
    Nothing is fetched, and no input raises an error.
    """
    draft = TripleDraft(capture_iri(page.url, page.timestamp))
    lower = page.html.lower()
    if any(mark in lower for mark in _MARKS):
        _read_markup(page, draft)
    read_metadata(page, draft)
    return list(draft)


def _read_markup(page: PageView, draft: TripleDraft) -> None:
    markup, _ = disarm(repaired_html(decode(page.html, "", page.charset), ""), LIMITS)
    if crowded(markup):
        return
    try:
        tree = LexborHTMLParser(markup)
    except SelectolaxError:
        return
    base = page_iri(page.url).value
    scripts = [node for node in tree.css("script[type]") if _is_json_ld(node.attributes)]
    for script in scripts[:MOST_SCRIPTS]:
        read_json_ld(script.text(), base, draft)
    read_microdata(tree, base, draft)


def _is_json_ld(attributes: dict[str, str | None]) -> bool:
    return (attributes.get("type") or "").strip().lower().startswith(_SCRIPT_TYPE)
