"""The indices on the server: their names, settings, versions and limits."""

import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from nwx import mappings
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.declarations import INDICES, IndexKind, indices_of
from nwx.engine.search_server.refusals import INDEX_EXISTS, RefusedError, missing_archive
from nwx.engine.search_server.server import Server, quoted
from nwx.engine.search_server.writes import index_states, next_version
from nwx.errors import EngineError, EngineVersionError, SettingsError
from nwx.keys import document_id
from nwx.model import IndexName
from nwx.settings import ServerSettings

SHARD_BYTES = 40 << 30
"""The target size of a shard: Elasticsearch recommends 10 to 50 GB."""

SHARD_ENTRIES = 200_000_000
"""The most entries of a shard, as Elasticsearch recommends; Lucene's limit is 2^31 - 1."""

MOST_SHARDS = 1_024
"""The most shards of an index by Elasticsearch's default settings."""


def number_of_shards(index: IndexName, settings: ServerSettings) -> int:
    """Return the number of shards of a new index: as set, or more for the expected captures."""
    declared = INDICES[index]
    entries = settings.expected_captures * declared.entries_each
    needed = max(entries * declared.entry_bytes / SHARD_BYTES, entries / SHARD_ENTRIES)
    # A power of two can be split repeatedly and evenly.
    expected = 1
    while expected < min(needed, MOST_SHARDS):
        expected *= 2
    return max(settings.shards, expected)


NUMBER = "num"
"""A number derived from the id: sets of numbers are looked up faster than sets of strings."""

FOLD_URL = "fold_url"
"""A number derived from the URL, by which hits are folded, as URLs may be long."""

FOLD_SIMILAR = "fold_similar"
"""A number derived from the signature, or from the id without one."""

WRITTEN = "written"
"""The time at which an entry of crawls was written, in microseconds."""

YEARS = "years"
COLLECTIONS = "collections"

CHUNK = "chunk"
"""The time span of a chunk of a document's dates; first entries have none."""

CHUNKS = "chunks"
"""The chunks below a dates entry."""

VECTOR_BYTES = "packed"
"""The numbers of a vector, one byte each, on servers without `dense_vector`."""

BITS = "bits"
"""The bits of a picture's hash, each as a word."""

TOO_LONG = "too_long"
"""The fields of a capture with values too long to index, unless the server has `_ignored`."""

WHOLE = "whole"
"""All values of a capture that has values too long to index, as JSON."""

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
"""Fields of this engine only, derived from those of the mappings."""

_OWN_VERSIONS = {IndexName.DATES: 1, IndexName.CAPTURES: 1}
"""The number of incompatible changes to this engine's own fields."""

LAZY_INDICES = frozenset(indices_of(IndexKind.ENTRIES))
"""Indices that are created on their first write, not with the archive."""

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
        """The version of its mapping, 0 if not recorded."""
        return int(self.meta.get("version", 0))


class Schema:
    """The indices of an archive; each has an alias, so that a rebuilt one can be swapped in."""

    def __init__(self, server: Server, settings: ServerSettings) -> None:
        if not _PREFIX.fullmatch(settings.prefix):
            raise SettingsError(
                f"{settings.prefix!r} is not a valid index prefix; "
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
        """Return the concrete index names of aliases by the same keys, without missing indices."""
        answer = index_states(self._server, ",".join(aliases.values()))
        made = {
            alias: concrete
            for concrete, state in answer.items()
            for alias in (concrete, *state.get("aliases", ()))
        }
        return {key: made[alias] for key, alias in aliases.items() if alias in made}

    def create(self) -> None:
        """Create missing indices, and add new fields to indices of an older version.

        Raises EngineVersionError on an index of a newer nwx, EngineError on one that nwx did not
        make.
        """
        found = self._checked()
        for index, made in found.items():
            if made.version < index_version(index):
                _add_fields(self._server, index, made)
        missing = [index for index in IndexName if index not in found and index not in LAZY_INDICES]
        with ThreadPoolExecutor(len(IndexName)) as pool:  # the server creates several concurrently
            list(pool.map(self._create, missing))
        self._is_checked = True

    def check(self) -> None:
        """Raise an error on an archive that is missing, newer or not nwx's; checked only once.

        A monitor may have stored its state before the first import.
        """
        state = f"{self.name(IndexName.QUALITY)}-files"
        if not (self._is_checked or self._checked() or index_states(self._server, state)):
            reason = f"no index begins with {self._settings.prefix!r}"
            raise missing_archive(self._server.place, reason)
        self._is_checked = True

    def _checked(self) -> "dict[IndexName, _MadeIndex]":
        found = self._made()
        for index, made in found.items():
            if made.name == self.name(index):
                raise EngineError.translated(
                    "nwx did not make the index %(index)s at %(address)s: it is not an alias; "
                    "delete it, or choose another prefix",
                    index=made.name,
                    address=self._server.address,
                )
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
        """Return the size of an index in bytes, None if the server does not report it."""
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
        """Create an index of LAZY_INDICES, and other missing indices of the archive."""
        self.create()
        self._create(index)

    def create_dates(self, alias: str, name: str = "") -> str:
        """Create another dates index; return its name, by default its alias's first version."""
        name = name or next_version(alias)
        self._create_as(IndexName.DATES, alias, name)
        return name

    def _create_as(self, index: IndexName, alias: str, name: str) -> None:
        body = index_body(index, self._settings) | {"aliases": {alias: {"is_write_index": True}}}
        try:
            self._server.request("PUT", f"/{quoted(name)}", body)
        except RefusedError as error:
            # another process may be creating it at the same moment
            if INDEX_EXISTS not in error.types:
                raise


def index_version(index: IndexName) -> int:
    """Return the version of an index on a server, as recorded in its mapping."""
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
    """Add fields to an index that it lacks, and record the current version."""
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
        # A deleted entry may be written again at once: its version must be forgotten.
        limits["gc_deletes"] = "0s"
    return {
        "settings": source.get("settings", {}) | {"index": limits},
        "mappings": index_mapping(index, {}),
    }


def index_mapping(index: IndexName, notes: dict[str, Any]) -> dict[str, Any]:
    """Return the mapping of an index, with `notes` and the version in its `_meta`."""
    made: dict[str, Any] = mappings.mapping(index)["mappings"]
    return made | {"properties": _fields(index), "_meta": _meta(index, notes)}


def _bounded(field: dict[str, Any]) -> dict[str, Any]:
    """Return a field that accepts values of any length: those too long are stored unindexed."""
    if field["type"] == "keyword":
        return {"ignore_above": _LONGEST_KEYWORD} | field
    return field


def longest_values() -> dict[str, int]:
    """Return the longest indexed value, in characters, of capture fields that have a limit."""
    properties = mappings.properties(IndexName.CAPTURES)
    bounded = {name: _bounded(field) for name, field in properties.items()}
    return {
        name: one["ignore_above"]
        for name, one in bounded.items()
        if "ignore_above" in one and one.get("doc_values", True)
    }


def own_of_document(entry: IndexEntry) -> IndexEntry:
    """Return a documents entry with this engine's own fields."""
    number = number_of(entry["id"])
    return entry | {
        NUMBER: number,
        FOLD_URL: number_of(document_id(entry.get("url", ""))),
        FOLD_SIMILAR: number_of(document_id(entry["signature"]))
        if entry.get("signature")
        else number,
    }


def number_of(id: str) -> int:
    """Return the number derived from a document id: its first 63 bits."""
    return int(id[:16], 16) >> 1


PAGE = 10_000
"""The most hits in one answer: Elasticsearch's index.max_result_window."""

MAX_IDS = 65_535
"""The most documents in a list: Elasticsearch's index.max_terms_count and search.max_buckets."""

SHORT_LIST = 4_000
"""The longest list of documents that is faster to send than to search for a shorter one."""

LOOKED_UP = 200
"""The longest list of documents that is faster to look up than to compare by a script."""

COMPARED_FOR_EACH = 100
"""How many documents a script compares with a list in the time of looking up one list item."""

COMPARED = 20_000
"""The most documents for which reducing a long list first is faster than searching with it."""

FEW = 200
"""Up to this many documents of a result, all are read to order it."""

STEP = 2_000
"""The number of dates entries read per step when ordering by date."""

DATES_OF_ENTRY = 1_000
"""The most dates in an entry; a document captured more often has several entries."""
