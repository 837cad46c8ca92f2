"""Graphs of triples of a capture: stated in the page, from analysis, from language models."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from pyoxigraph import Literal, NamedNode, Triple

from nwx.engine.indices.crawl_index import DocumentScore
from nwx.steering.analysis.names import LanguageModel, NameKind
from nwx.steering.analysis.page_view import PageView
from nwx.steering.specifications.specification import CrawlSpecification, EntityKind
from nwx.steering.triples.structured_data import structured_triples
from nwx.steering.triples.terms import (
    DCT_DATE,
    DCT_SOURCE,
    NWX_COUNT,
    NWX_FORM,
    RDF_TYPE,
    RDFS_LABEL,
    S_MENTIONS,
    S_SAME_AS,
    SCHEMA,
    analysis_iri,
    capture_iri,
    date_literal,
    iri,
    literal,
    names_iri,
    page_iri,
)

ENTITY = "urn:nwx:entity:"
LONGEST_NAME = 200

KIND_TYPES: Mapping[EntityKind, NamedNode] = {
    EntityKind.PERSON: NamedNode(f"{SCHEMA}Person"),
    EntityKind.ORGANISATION: NamedNode(f"{SCHEMA}Organization"),
    EntityKind.PLACE: NamedNode(f"{SCHEMA}Place"),
    EntityKind.EVENT: NamedNode(f"{SCHEMA}Event"),
    EntityKind.OTHER: NamedNode(f"{SCHEMA}Thing"),
}
"""The types of entities in the store, by kind."""

_MOST_MENTIONS = 500
_NAME = NamedNode(f"{SCHEMA}name")
_IDENTIFIED = re.compile(r"https?://(?:www\.)?wikidata\.org/(?:wiki|entity)/(Q\d+)$")
_KINDS = (
    (EntityKind.PERSON, frozenset(("Person", "Patient"))),
    (
        EntityKind.ORGANISATION,
        frozenset(
            "Organization Corporation NGO Airline Consortium Cooperative LocalBusiness SportsTeam "
            "MusicGroup PerformingGroup CollegeOrUniversity School Library Hospital Museum "
            "PoliticalParty WorkersUnion Project Hotel Restaurant Store Brand".split()
        ),
    ),
    (
        EntityKind.PLACE,
        frozenset(
            "Place City Country State AdministrativeArea Continent Landform Mountain River "
            "Residence LandmarksOrHistoricalBuildings TouristAttraction Park Airport Bridge".split()
        ),
    ),
    (EntityKind.EVENT, frozenset(("Event", "Festival", "Hackathon"))),
)
_ENDINGS = {"Organization": EntityKind.ORGANISATION, "Event": EntityKind.EVENT}


class Mention(NamedTuple):
    """An entity, and how often it is mentioned; `identifier` is an address of it, if known."""

    name: str
    kind: EntityKind
    identifier: str = ""
    times: int = 1


def entity_iri(name: str, kind: EntityKind, identifier: str = "") -> NamedNode:
    """Return the IRI of an entity in the store.

    It is the identifier if that is an address, with Wikidata entries in one spelling; else kind and
    name, ignoring case and Unicode composition.
    """
    if found := _IDENTIFIED.match(identifier.strip()):
        return NamedNode(f"http://www.wikidata.org/entity/{found[1]}")
    address = iri(identifier) if identifier.startswith(("http://", "https://")) else None
    folded = unicodedata.normalize("NFKC", name).casefold()[:LONGEST_NAME]
    return address or NamedNode(f"{ENTITY}{kind.value}:{quote(folded.encode('utf-8', 'replace'))}")


def mention_triples(capture: NamedNode, mentions: Iterable[Mention]) -> Iterator[Triple]:
    """Yield triples of the entities that a capture mentions: names, kinds and counts."""
    counts: Counter[NamedNode] = Counter()
    first: dict[NamedNode, Mention] = {}
    for mention in mentions:
        if not mention.name.strip() or len(first) >= _MOST_MENTIONS:
            continue
        entity = entity_iri(mention.name, mention.kind, mention.identifier)
        first.setdefault(entity, mention)
        counts[entity] += mention.times
    for entity, mention in first.items():
        yield Triple(capture, S_MENTIONS, entity)
        yield Triple(entity, RDF_TYPE, KIND_TYPES[mention.kind])
        yield Triple(entity, RDFS_LABEL, literal(mention.name.strip()[:LONGEST_NAME]))
        yield Triple(entity, NWX_COUNT, Literal(counts[entity]))


def structured_mentions(triples: Iterable[Triple]) -> list[Mention]:
    """Return the named persons, organisations, places and events in a page's triples."""
    kinds: dict[NamedNode, EntityKind] = {}
    names: dict[NamedNode, str] = {}
    same: dict[NamedNode, str] = {}
    for subject, predicate, value in triples:
        if not isinstance(subject, NamedNode):
            continue
        if predicate == RDF_TYPE and (kind := _kind_of(value)):
            kinds.setdefault(subject, kind)
        elif predicate == _NAME and isinstance(value, Literal):
            names.setdefault(subject, " ".join(value.value.split()))
        elif predicate == S_SAME_AS and _IDENTIFIED.match(getattr(value, "value", "")):
            same.setdefault(subject, value.value)
    return [
        Mention(names[subject][:LONGEST_NAME], kind, same.get(subject, ""))
        for subject, kind in kinds.items()
        if names.get(subject)
    ]


def analysed_mentions(score: DocumentScore, specification: CrawlSpecification) -> list[Mention]:
    """Return the entities of a specification that analysis found in a document."""
    entities = {entity.name: entity for entity in specification.entities}
    return [
        Mention(name, entity.kind, entity.identifier, count)
        for name, count in score.entities
        if (entity := entities.get(name))
    ]


def _kind_of(value: object) -> EntityKind | None:
    if not isinstance(value, NamedNode) or not value.value.startswith(SCHEMA):
        return None
    name = value.value.removeprefix(SCHEMA)
    for kind, types in _KINDS:
        if name in types:
            return kind
    return next((kind for end, kind in _ENDINGS.items() if name.endswith(end)), None)


_MOST_NAMES = 200
"""Names kept of one page, the most frequent ones."""


class TextNames:
    """Finds names in pages; the first pages of each language take longer."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model

    def __call__(self, page: PageView) -> list[Mention]:
        """Return the names in the text of a page, without dates, most frequent first."""
        reading = self._model.read(page.content, page.language)
        found = Counter(
            (name.text[:LONGEST_NAME], EntityKind(name.kind.value))
            for name in self._model.names(page.content, reading, page.language)
            if name.kind is not NameKind.DATE
        )
        return [
            Mention(text, kind, times=count)
            for (text, kind), count in found.most_common(_MOST_NAMES)
        ]


GRAPH_FORM = Literal(2)
"""The format version of graphs; graphs of other versions are made again."""


class CaptureGraph(NamedTuple):
    """A graph of the store: its name and all of its triples."""

    name: NamedNode
    triples: tuple[Triple, ...]


def page_graph(page: PageView) -> CaptureGraph:
    """Return the triples in a page's markup and the entities named in them."""
    capture = capture_iri(page.url, page.timestamp)
    triples = structured_triples(page)
    mentions = mention_triples(capture, structured_mentions(triples))
    return _graph(capture, capture, page, [*triples, *mentions])


def names_graph(page: PageView, names: Iterable[Mention]) -> CaptureGraph:
    """Return the graph of names found in the text of a page, possibly none."""
    capture = capture_iri(page.url, page.timestamp)
    name = names_iri(page.url, page.timestamp)
    return _graph(name, capture, page, list(mention_triples(capture, names)))


def score_graph(score: DocumentScore, specification: CrawlSpecification) -> CaptureGraph | None:
    """Return the graph of a specification's entities that a page mentions, or None."""
    capture = capture_iri(score.url, score.timestamp)
    mentions = analysed_mentions(score, specification)
    if not mentions:
        return None
    name = analysis_iri(score.url, score.timestamp, score.crawl)
    return _graph(name, capture, score, list(mention_triples(capture, mentions)))


def analysed_page_graphs(
    page: PageView, score: DocumentScore, specification: CrawlSpecification
) -> tuple[CaptureGraph, ...]:
    """Return the graphs of a page just analysed; other processes can receive them."""
    found = score_graph(score, specification)
    return (page_graph(page), found) if found else (page_graph(page),)


def _graph(
    name: NamedNode,
    capture: NamedNode,
    of: PageView | DocumentScore,
    triples: Sequence[Triple],
) -> CaptureGraph:
    about = (
        Triple(capture, DCT_SOURCE, page_iri(of.url)),
        Triple(capture, DCT_DATE, date_literal(of.timestamp)),
        Triple(name, NWX_FORM, GRAPH_FORM),
    )
    return CaptureGraph(name, (*about, *triples))
