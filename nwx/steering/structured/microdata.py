"""Microdata as RDF, by the HTML standard and the W3C's note "Microdata to RDF"."""

from collections.abc import Iterator
from urllib.parse import urljoin

from pyoxigraph import NamedNode
from selectolax.lexbor import LexborHTMLParser, LexborNode

from nwx.steering.structured.draft import RdfObject, TripleDraft
from nwx.steering.structured.terms import LONGEST_LITERAL, RDF_TYPE, SCHEMA, iri, literal

_MOST_ITEMS = 500
_MOST_VISITED = 20_000  # elements that are looked at for properties
_MOST_CHARACTERS = 2_000_000  # of texts that are taken together
_DEEPEST = 32
_MOST_NAMES = 10
_TOO_MUCH = "microdata: there is more than is read of a page"

_ADDRESSES = {
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
    if reading.is_spent:
        draft.complain(_TOO_MUCH)


class _Reading:
    """The items of one page, each read once, within bounds."""

    def __init__(self, tree: LexborHTMLParser, base: str, draft: TripleDraft) -> None:
        self._tree, self._base, self._draft = tree, base, draft
        self._subjects: dict[int, NamedNode] = {}
        self._visited = self._characters = 0

    @property
    def is_spent(self) -> bool:
        """Whether as much was read as is read of a page."""
        return (
            len(self._subjects) >= _MOST_ITEMS
            or self._visited >= _MOST_VISITED
            or self._characters >= _MOST_CHARACTERS
        )

    def item(self, element: LexborNode, vocabulary: str, depth: int) -> NamedNode | None:
        """Read an item and those within it; return its name."""
        known = self._subjects.get(element.mem_id)
        if known is not None:
            return known
        if self.is_spent or depth > _DEEPEST:
            self._draft.complain(_TOO_MUCH)
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
        """Yield the elements that are properties of an item, those that it refers to included."""
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
                self._visited += 100  # it may lie anywhere in the page
                yield from self._tree.css(f'[id="{name}"]')[:1]

    def _value(self, element: LexborNode, vocabulary: str, depth: int) -> RdfObject | None:
        attributes, tag = element.attributes, element.tag or ""
        if "itemscope" in attributes:
            return self.item(element, vocabulary, depth + 1)
        if tag in _ADDRESSES:
            return self._address(attributes.get(_ADDRESSES[tag]) or "")
        if tag in _VALUES:
            text = attributes.get(_VALUES[tag]) or ""
        elif attributes.get("content"):
            text = attributes.get("content") or ""  # not in the standard, but as many pages do
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
    """Return what the names of properties are put behind."""
    if type_iri.startswith(SCHEMA):
        return SCHEMA
    return type_iri[: max(type_iri.rfind("#"), type_iri.rfind("/")) + 1]


def _predicate(name: str, vocabulary: str) -> NamedNode | None:
    if ":" in name:
        return iri(name)
    return iri(vocabulary + name) if vocabulary else None
