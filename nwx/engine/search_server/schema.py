"""The indices on the server: their names, settings, versions and limits."""

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from nwx import mappings
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.declarations import INDICES, IndexKind, indices_of
from nwx.engine.search_server.cluster.copies import index_states, next_version
from nwx.engine.search_server.refusals import INDEX_EXISTS, RefusedError
from nwx.engine.search_server.server import Server, quoted
from nwx.errors import EngineError, EngineVersionError
from nwx.keys import document_id
from nwx.model import IndexName
from nwx.settings import ServerSettings

SHARD_BYTES = 40 << 30
"""How large a shard may grow: Elasticsearch advises 10 to 50 GB."""

SHARD_ENTRIES = 200_000_000
"""The most entries of a shard, as Elasticsearch advises; Lucene ends at 2^31 - 1."""

MOST_SHARDS = 1_024
"""The most shards of an index that Elasticsearch makes unless it is set up otherwise."""


def number_of_shards(index: IndexName, settings: ServerSettings) -> int:
    """Return the shards of a new index: as set, and more where more captures are expected."""
    declared = INDICES[index]
    entries = settings.expected_captures * declared.entries_each
    needed = max(entries * declared.entry_bytes / SHARD_BYTES, entries / SHARD_ENTRIES)
    # A power of two can be split again and again, and evenly.
    expected = 1
    while expected < min(needed, MOST_SHARDS):
        expected *= 2
    return max(settings.shards, expected)


NUMBER = "num"
"""A number that stands for the id: sets of numbers are looked up faster than sets of words."""

FOLD_URL = "fold_url"
"""A number that stands for the URL, by which hits are folded: URLs may be long."""

FOLD_SIMILAR = "fold_similar"
"""A number that stands for the signature, or for the id where there is none."""

WRITTEN = "written"
"""When an entry of crawls was written, in microseconds."""

YEARS = "years"
COLLECTIONS = "collections"

CHUNK = "chunk"
"""The time that a chunk of the dates of a document is of; first entries have none."""

CHUNKS = "chunks"
"""The chunks below an entry of dates."""

VECTOR_BYTES = "packed"
"""The numbers of a vector, a byte each, where the server has no `dense_vector`."""

BITS = "bits"
"""The bits of the hash of a picture, each as a word."""

TOO_LONG = "too_long"
"""The fields of a capture with values too long to be indexed, where the server does not tell."""

WHOLE = "whole"
"""All values of a capture with values too long to be indexed, as JSON."""

_OWN_FIELDS: dict[IndexName, dict[str, Any]] = {
    IndexName.DOCUMENTS: {name: {"type": "long"} for name in (NUMBER, FOLD_URL, FOLD_SIMILAR)},
    IndexName.DATES: {
        NUMBER: {"type": "long"},
        YEARS: {"type": "integer"},
        COLLECTIONS: {"type": "keyword", "ignore_above": 8_191},
        CHUNK: {"type": "keyword"},
        CHUNKS: {"type": "keyword"},
    },
    IndexName.CAPTURES: {
        TOO_LONG: {"type": "keyword"},
        WHOLE: {"type": "binary", "doc_values": True},
    },
    IndexName.CRAWLS: {WRITTEN: {"type": "long"}},
    IndexName.PICTURES: {BITS: {"type": "keyword"}},
}
OWN_FIELDS = sorted({VECTOR_BYTES, *(name for fields in _OWN_FIELDS.values() for name in fields)})
"""Fields of this engine alone, worked out from those of the mappings."""

_OWN_VERSIONS = {IndexName.DATES: 1, IndexName.CAPTURES: 1}
"""How often the fields of this engine alone changed so that an older nwx would read them wrong."""

LAZY_INDICES = frozenset(indices_of(IndexKind.ENTRIES))
"""Indices that are made when they are first written to, not with the archive."""

_LONGEST_KEYWORD = 8_191  # characters, of 4 bytes at most: Lucene's limit is 32,766 bytes
_PREFIX = re.compile(r"[a-z0-9][a-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class _MadeIndex:
    """An index on the server: its name (not the alias), its mapping notes, its fields."""

    name: str
    meta: dict[str, Any]
    fields: frozenset[str]

    @property
    def version(self) -> int:
        """The version of its mapping, 0 where none is noted."""
        return int(self.meta.get("version", 0))


class Schema:
    """The indices of an archive; each is an alias, so that a rebuilt one is swapped in whole."""

    def __init__(self, server: Server, settings: ServerSettings) -> None:
        if not _PREFIX.fullmatch(settings.prefix):
            raise EngineError(
                f"{settings.prefix!r} is no prefix for indices; "
                f"use lower-case letters, digits, '-', '_' and '.'"
            )
        self._server = server
        self._settings = settings
        self._is_checked = False

    def name(self, index: IndexName) -> str:
        """Return the alias of an index."""
        return f"{self._settings.prefix}-{index}"

    def is_made(self, index: IndexName) -> bool:
        """Return whether an index exists."""
        return bool(index_states(self._server, self.name(index)))

    def made_names(self) -> dict[IndexName, str]:
        """Return the concrete names of the existing indices, resolved from their aliases."""
        return {index: made.name for index, made in self._made().items()}

    def names_behind(self, aliases: Mapping[str, str]) -> dict[str, str]:
        """Return the concrete index names of aliases, by the same keys, without missing indices."""
        answer = index_states(self._server, ",".join(aliases.values()))
        made = {
            alias: concrete
            for concrete, state in answer.items()
            for alias in (concrete, *state.get("aliases", ()))
        }
        return {key: made[alias] for key, alias in aliases.items() if alias in made}

    def create(self) -> None:
        """Create the missing indices and upgrade indices of an older version.

        Raises EngineVersionError if an index was made by a newer version of nwx.
        """
        found = self._checked()
        for index, made in found.items():
            if made.version < index_version(index):
                _add_fields(self._server, index, made)
        missing = [index for index in IndexName if index not in found and index not in LAZY_INDICES]
        with ThreadPoolExecutor(len(IndexName)) as pool:  # the server makes several at once
            list(pool.map(self._create, missing))
        self._is_checked = True

    def check(self) -> None:
        """Raise EngineVersionError where an index was made by a newer version; asks once."""
        if not self._is_checked:
            self._checked()
            self._is_checked = True

    def _checked(self) -> "dict[IndexName, _MadeIndex]":
        found = self._made()
        for index, made in found.items():
            if made.version > index_version(index):
                raise EngineVersionError.translated(
                    "the index %(index)s at %(address)s was made by a newer version of nwx "
                    "(version %(version)s, here %(known)s); update nwx",
                    index=self.name(index),
                    address=self._server.address,
                    version=made.version,
                    known=index_version(index),
                )
        return found

    def stored_bytes(self, name: str) -> int | None:
        """Return the bytes that an index takes, None if the server does not report them."""
        answer = self._server.request("GET", f"/{quoted(name)}/_stats/store")
        store = answer["_all"]["primaries"].get("store")
        return None if store is None else int(store["size_in_bytes"])

    def _made(self) -> "dict[IndexName, _MadeIndex]":
        names = {self.name(index): index for index in IndexName}
        answer = index_states(self._server, ",".join(names))
        found = {}
        for concrete, state in answer.items():
            made = _made_index(concrete, state)
            for alias in (concrete, *state.get("aliases", {})):
                if alias in names:
                    found[names[alias]] = made
        return found

    def _create(self, index: IndexName) -> None:
        name = self.name(index)
        self._create_as(index, name, next_version(name))

    def create_lazily(self, index: IndexName) -> None:
        """Make an index that `create` leaves out, and the others where they are missing."""
        self.create()
        self._create(index)

    def create_dates(self, alias: str, name: str = "") -> str:
        """Make another index of dates; return its name, "" is the first of its alias."""
        name = name or next_version(alias)
        self._create_as(IndexName.DATES, alias, name)
        return name

    def _create_as(self, index: IndexName, alias: str, name: str) -> None:
        body = index_body(index, self._settings) | {"aliases": {alias: {"is_write_index": True}}}
        try:
            self._server.request("PUT", f"/{quoted(name)}", body)
        except RefusedError as error:
            # another process may be making it at the same moment
            if INDEX_EXISTS not in error.types:
                raise


def index_version(index: IndexName) -> int:
    """Return the version of an index on a server, which its mapping notes."""
    return mappings.version(index) + _OWN_VERSIONS.get(index, 0)


def allow_chunks(server: Server, name: str) -> None:
    """Add the fields of chunks to a dates index of an older version."""
    for concrete, state in server.request("GET", f"/{quoted(name)}").items():
        made = _made_index(concrete, state)
        if not {CHUNK, CHUNKS} <= made.fields:
            _add_fields(server, IndexName.DATES, made)


def _made_index(name: str, state: dict[str, Any]) -> _MadeIndex:
    mapping = state["mappings"]
    return _MadeIndex(name, mapping.get("_meta", {}), frozenset(mapping.get("properties", ())))


def _add_fields(server: Server, index: IndexName, made: _MadeIndex) -> None:
    """Add the fields to an index that its mapping has gained, and note its version."""
    known = _fields(index)
    mapping = {
        "properties": {name: known[name] for name in known if name not in made.fields},
        "_meta": _meta(index, made.meta),
    }
    server.request("PUT", f"/{quoted(made.name)}/_mapping", mapping)


def _meta(index: IndexName, known: dict[str, Any]) -> dict[str, Any]:
    return known | {"version": index_version(index)}


def _fields(index: IndexName) -> dict[str, Any]:
    fields = {name: _bounded(field) for name, field in mappings.properties(index).items()}
    return fields | _OWN_FIELDS.get(index, {})


def index_body(index: IndexName, settings: ServerSettings) -> dict[str, Any]:
    """Return the body to create an index: mapping, shards, replicas and nwx limits."""
    source = mappings.mapping(index)
    limits: dict[str, Any] = {
        "number_of_shards": number_of_shards(index, settings),
        "number_of_replicas": settings.replicas,
    }
    if index in (IndexName.DOCUMENTS, IndexName.CRAWLS):
        # A deleted entry may come back at once: its version must not be remembered.
        limits["gc_deletes"] = "0s"
    return {
        "settings": source.get("settings", {}) | {"index": limits},
        "mappings": index_mapping(index, {}),
    }


def index_mapping(index: IndexName, notes: dict[str, Any]) -> dict[str, Any]:
    """Return the mapping of an index, with these notes and the version."""
    made: dict[str, Any] = mappings.mapping(index)["mappings"]
    return made | {"properties": _fields(index), "_meta": _meta(index, notes)}


def _bounded(field: dict[str, Any]) -> dict[str, Any]:
    """Return a field that takes values of any length: one too long to index is only kept."""
    if field["type"] == "keyword":
        return {"ignore_above": _LONGEST_KEYWORD} | field
    return field


def longest_values() -> dict[str, int]:
    """Return the most characters of the fields of captures that are indexed as a whole."""
    properties = mappings.properties(IndexName.CAPTURES)
    bounded = {name: _bounded(field) for name, field in properties.items()}
    return {
        name: one["ignore_above"]
        for name, one in bounded.items()
        if "ignore_above" in one and one.get("doc_values", True)
    }


def own_of_document(entry: IndexEntry) -> IndexEntry:
    """Return an entry of documents with this engine's fields."""
    number = number_of(entry["id"])
    return entry | {
        NUMBER: number,
        FOLD_URL: number_of(document_id(entry.get("url", ""))),
        FOLD_SIMILAR: number_of(document_id(entry["signature"]))
        if entry.get("signature")
        else number,
    }


def number_of(id: str) -> int:
    """Return the number of a document id: 63 bits of it."""
    return int(id[:16], 16) >> 1


PAGE = 10_000
"""The most hits of one answer: Elasticsearch's index.max_result_window."""

MAX_IDS = 65_535
"""The most documents of one list: Elasticsearch's index.max_terms_count and search.max_buckets."""

SHORT_LIST = 4_000
"""A list of so many documents is sent in less time than it takes to look for a shorter one."""

LOOKED_UP = 200
"""So many documents of a list are looked up in less time than it takes to send and run a script."""

COMPARED_FOR_EACH = 100
"""A script compares so many documents with a list in the time that one of the list is looked up."""

COMPARED = 20_000
"""So many documents are compared with a long list in less time than each search with it takes."""

FEW = 200
"""Up to so many documents of a result, all are looked at for its order."""

STEP = 2_000
"""The entries of dates of one step on the way to the first by date."""

DATES_OF_ENTRY = 1_000
"""The most dates of one entry; a document that was captured more often has several entries."""
