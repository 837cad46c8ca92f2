"""Queries about entities: list them; where, when and with whom one is mentioned."""

import json
from collections.abc import MutableMapping
from dataclasses import dataclass
from threading import RLock
from typing import Any

from cachetools import TTLCache
from pyoxigraph import Literal, NamedNode

from nwx.steering.specifications.specification import EntityKind
from nwx.steering.triples.capture_graphs import KIND_TYPES
from nwx.steering.triples.terms import (
    DCT_DATE,
    DCT_SOURCE,
    NWX_COUNT,
    RDF_TYPE,
    RDFS_LABEL,
    S_MENTIONS,
    iri,
)
from nwx.steering.triples.triple_store import QueryLimits, SparqlQuery, TripleStore

_TYPES = " ".join(map(str, KIND_TYPES.values()))
_KINDS = {node.value: kind for kind, node in KIND_TYPES.items()}
_NAMES_SHOWN = 20
_MOST_KNOWN, _KNOWN_SECONDS = 200, 60.0
_ABOUT = f"?e {NWX_COUNT} ?n ; {RDFS_LABEL} ?label ; {RDF_TYPE} ?type . VALUES ?type {{ {_TYPES} }}"


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity, and how many captures mention it: of all, or of those of another entity."""

    iri: str
    name: str
    kind: EntityKind
    captures: int


@dataclass(frozen=True, slots=True)
class EntityCapture:
    """A capture that mentions an entity, and how often."""

    url: str
    timestamp: str
    count: int


@dataclass(frozen=True, slots=True)
class EntityFacts:
    """An entity: its names, the number of captures a year, and who is mentioned with it."""

    iri: str
    names: tuple[str, ...]
    kind: EntityKind
    years: tuple[tuple[str, int], ...]
    companions: tuple[EntityRow, ...]

    @property
    def captures(self) -> int:
        """How many captures mention the entity."""
        return sum(count for _, count in self.years)


class KnownAnswers(TTLCache[tuple[str, str], bytes]):
    """A thread-safe cache of a store's answers of the last minute."""

    def __init__(self, _: object = None) -> None:
        super().__init__(_MOST_KNOWN, _KNOWN_SECONDS)
        self._guard = RLock()

    def __getitem__(self, key: tuple[str, str]) -> bytes:
        with self._guard:
            return super().__getitem__(key)

    def __setitem__(self, key: tuple[str, str], data: bytes) -> None:
        with self._guard:
            super().__setitem__(key, data)


class EntityQuestions:
    """Queries about entities to a triple store, within limits."""

    def __init__(
        self,
        store: TripleStore,
        limits: QueryLimits,
        known: MutableMapping[tuple[str, str], bytes] | None = None,
    ) -> None:
        """Query a store; `known` caches answers by store version and query."""
        self._store, self._limits = store, limits
        self._known = {} if known is None else known

    def entities(
        self, text: str = "", kind: EntityKind | None = None, limit: int = 50, offset: int = 0
    ) -> list[EntityRow]:
        """Return entities whose name contains a text, most mentioned by captures first."""
        filters = f"FILTER(CONTAINS(LCASE(STR(?label)), LCASE({_text(text)})))" if text else ""
        if kind is not None:
            filters += f" FILTER(?type = {KIND_TYPES[kind]})"
        return self._rows(
            f"SELECT ?e (MIN(?label) AS ?name) (MIN(?type) AS ?kind) "
            f"(COUNT(DISTINCT ?c) AS ?captures) WHERE {{ GRAPH ?g {{ ?c {S_MENTIONS} ?e . {_ABOUT} "
            f"{filters} }} }} GROUP BY ?e ORDER BY DESC(?captures) ?name ?e "
            f"LIMIT {limit} OFFSET {offset}"
        )

    def facts(self, entity: str, companions: int = 50) -> EntityFacts | None:
        """Return names, kind, years and companions of an entity, None if it is unknown."""
        node = iri(entity)
        if node is None:
            return None
        names = self._solutions(
            f"SELECT ?label ?type (COUNT(*) AS ?times) WHERE {{ VALUES ?e {{ {node} }} "
            f"GRAPH ?g {{ {_ABOUT} }} }} GROUP BY ?label ?type "
            f"ORDER BY DESC(?times) ?label LIMIT {_NAMES_SHOWN}"
        )
        if not names:
            return None
        years = self._solutions(
            f"SELECT ?year (COUNT(DISTINCT ?c) AS ?captures) WHERE {{ GRAPH ?g {{ "
            f"?c {S_MENTIONS} {node} ; {DCT_DATE} ?date "
            f"BIND(SUBSTR(STR(?date), 1, 4) AS ?year) }} }} GROUP BY ?year ORDER BY ?year"
        )
        return EntityFacts(
            node.value,
            tuple(dict.fromkeys(row["label"] for row in names)),
            _KINDS.get(names[0]["type"], EntityKind.OTHER),
            tuple((row["year"], int(row["captures"])) for row in years),
            tuple(self._companions(node, companions)),
        )

    def _companions(self, node: NamedNode, limit: int) -> list[EntityRow]:
        return self._rows(
            f"SELECT ?e (MIN(?label) AS ?name) (MIN(?type) AS ?kind) "
            f"(COUNT(DISTINCT ?c) AS ?captures) WHERE {{ GRAPH ?g {{ ?c {S_MENTIONS} {node} }} "
            f"GRAPH ?h {{ ?c {S_MENTIONS} ?e . {_ABOUT} }} FILTER(?e != {node}) }} "
            f"GROUP BY ?e ORDER BY DESC(?captures) ?name ?e LIMIT {limit}"
        )

    def captures(
        self, entity: str, year: str = "", limit: int = 50, offset: int = 0
    ) -> list[EntityCapture]:
        """Return the captures that mention an entity, oldest first."""
        node = iri(entity)
        if node is None:
            return []
        filters = f"FILTER(STRSTARTS(STR(?date), {_text(year)}))" if year else ""
        rows = self._solutions(
            f"SELECT ?url ?date (SUM(?n) AS ?times) WHERE {{ GRAPH ?g {{ ?c {S_MENTIONS} {node} ; "
            f"{DCT_SOURCE} ?url ; {DCT_DATE} ?date . {node} {NWX_COUNT} ?n {filters} }} }} "
            f"GROUP BY ?url ?date ORDER BY ?date ?url LIMIT {limit} OFFSET {offset}"
        )
        return [EntityCapture(row["url"], _digits(row["date"]), int(row["times"])) for row in rows]

    def _rows(self, text: str) -> list[EntityRow]:
        return [
            EntityRow(
                row["e"],
                row["name"],
                _KINDS.get(row["kind"], EntityKind.OTHER),
                int(row["captures"]),
            )
            for row in self._solutions(text)
            if "e" in row
        ]

    def _solutions(self, text: str) -> list[dict[str, str]]:
        key = self._store.version(), text
        data = self._known.get(key)
        if data is None:
            data = self._store.answer(SparqlQuery(text), self._limits, is_ours=True).data
            self._known[key] = data
        found: Any = json.loads(data)
        return [
            {name: term["value"] for name, term in row.items()}
            for row in found["results"]["bindings"]
        ]


def _text(value: str) -> str:
    return str(Literal(value.replace("\x00", "")))


def _digits(date: str) -> str:
    """Return the 14 digits of a date and time."""
    return "".join(filter(str.isdigit, date))[:14]
