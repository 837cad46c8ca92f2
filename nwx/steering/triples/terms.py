"""RDF terms of text from pages, and the bounded triples of a page."""

import re
from collections.abc import Iterator
from urllib.parse import quote

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

RDF_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
RDFS_LABEL = NamedNode("http://www.w3.org/2000/01/rdf-schema#label")
DCT_SOURCE = NamedNode("http://purl.org/dc/terms/source")
DCT_DATE = NamedNode("http://purl.org/dc/terms/date")
XSD_DATE_TIME = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")
SCHEMA = "https://schema.org/"
S_MENTIONS = NamedNode(f"{SCHEMA}mentions")
S_SAME_AS = NamedNode(f"{SCHEMA}sameAs")
NWX = "urn:nwx:term:"
NWX_COUNT = NamedNode(f"{NWX}count")
NWX_FORM = NamedNode(f"{NWX}form")

LONGEST_IRI = 2_000
LONGEST_LITERAL = 2_000

_OLD_SCHEMA = re.compile(r"https?://(?:www\.)?schema\.org/")
_UNSAFE = re.compile(r"[\x00-\x20\x7f-\xa0<>\"{}|^`\\\ud800-\udfff]")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_UNSTORED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")  # not in XML
_SAFE_IN_URN = "-._~:/@!$&'()*+,;=%?"


def iri(text: str) -> NamedNode | None:
    """Return an absolute IRI with unsafe characters escaped, None if `text` cannot be one.

    Terms of schema.org are normalized to https without www.
    """
    text = text.strip()
    if not text or len(text) > LONGEST_IRI or not _SCHEME.match(text):
        return None
    text = _BARE_PERCENT.sub("%25", _UNSAFE.sub(_escape, text))
    if found := _OLD_SCHEMA.match(text):
        text = SCHEMA + text[found.end() :]
    try:
        return NamedNode(text)
    except ValueError:
        return None


def literal(text: str, language: str = "", datatype: NamedNode | None = None) -> Literal:
    """Return a text as a literal, cut off at LONGEST_LITERAL characters."""
    value = _UNSTORED.sub("\ufffd", text[:LONGEST_LITERAL])
    if language:
        try:
            return Literal(value, language=language)
        except ValueError:
            return Literal(value)
    return Literal(value, datatype=datatype) if datatype else Literal(value)


def capture_iri(url: str, timestamp: str) -> NamedNode:
    """Return the name of a capture: `urn:nwx:capture:TIMESTAMP:URL`."""
    return NamedNode(f"urn:nwx:capture:{timestamp}:{_in_urn(url)}")


def names_iri(url: str, timestamp: str) -> NamedNode:
    """Return the name of the graph of names found in the text of a capture."""
    return NamedNode(f"urn:nwx:names:{timestamp}:{_in_urn(url)}")


def analysis_iri(url: str, timestamp: str, crawl: str) -> NamedNode:
    """Return the name of the graph of a crawl's analysis of a capture."""
    return NamedNode(f"urn:nwx:analysis:{quote(crawl, safe='')}:{timestamp}:{_in_urn(url)}")


def part_iri(capture: NamedNode, number: int) -> NamedNode:
    """Return the name of a thing that a page describes without naming it."""
    return NamedNode(f"{capture.value}#n{number}")


def page_iri(url: str) -> NamedNode:
    """Return a URL of an archive as an IRI."""
    return iri(url) or NamedNode(f"urn:nwx:url:{_in_urn(url)}")


def date_literal(timestamp: str) -> Literal:
    """Return a timestamp of 14 digits as a date and time in UTC."""
    t = timestamp
    text = f"{t[:4]}-{t[4:6]}-{t[6:8]}T{t[8:10]}:{t[10:12]}:{t[12:14]}Z"
    return Literal(text, datatype=XSD_DATE_TIME)


def _in_urn(url: str) -> str:
    escaped = quote(url.encode("utf-8", "replace"), safe=_SAFE_IN_URN)
    return _BARE_PERCENT.sub("%25", escaped)


def _escape(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match[0].encode("utf-8", "replace"))


MOST_TRIPLES = 2_000
"""Triples kept of one page."""

RdfObject = NamedNode | Literal


class TripleDraft:
    """Distinct triples in the order found.

    Things without a name are named by their order in the page, so that the same page always gives
    the same triples.
    """

    def __init__(self, capture: NamedNode) -> None:
        self._capture = capture
        self._triples: dict[tuple[str, str, str], Triple] = {}
        self._parts: dict[str, NamedNode] = {}
        self.is_cut = False
        """Whether triples above MOST_TRIPLES were left out."""

    def new_part(self) -> NamedNode:
        """Return a new name for a thing without one."""
        number = len(self._parts) + 1
        return self._parts.setdefault(f"#{number}", part_iri(self._capture, number))

    def add(self, subject: NamedNode, predicate: NamedNode, value: RdfObject) -> None:
        """Add a triple."""
        key = (subject.value, predicate.value, str(value))
        if key in self._triples:
            return
        if len(self._triples) >= MOST_TRIPLES:
            self.is_cut = True
            return
        self._triples[key] = Triple(subject, predicate, value)

    def add_unchecked(self, triple: Triple) -> None:
        """Add a triple with unchecked terms from a parser; drop it if it is invalid."""
        subject, predicate = self._node(triple.subject), iri(triple.predicate.value)
        value = self._object(triple.object)
        if subject is not None and predicate is not None and value is not None:
            self.add(subject, predicate, value)

    def __iter__(self) -> Iterator[Triple]:
        return iter(self._triples.values())

    def _node(self, node: object) -> NamedNode | None:
        if isinstance(node, NamedNode):
            return iri(node.value)
        if not isinstance(node, BlankNode):
            return None
        known = self._parts.get(node.value)
        if known is None:
            known = part_iri(self._capture, len(self._parts) + 1)
            self._parts[node.value] = known
        return known

    def _object(self, node: object) -> RdfObject | None:
        if not isinstance(node, Literal):
            return self._node(node)
        if not node.value.strip():
            return None
        datatype = iri(node.datatype.value)
        return literal(node.value, node.language or "", None if node.language else datatype)
