"""The indices on the server: their names, settings and versions."""

import re
from typing import Any

from nwx import mappings
from nwx.engine.elastic.refusals import INDEX_EXISTS, RefusedError
from nwx.engine.elastic.server import Server, quoted
from nwx.engine.entries import IndexEntry
from nwx.errors import EngineError, EngineVersionError
from nwx.keys import document_id
from nwx.model import IndexName
from nwx.settings import ElasticSettings

NUMBER = "num"
"""A number that stands for the id: sets of numbers are looked up faster than sets of words."""

FOLD_URL = "fold_url"
"""A number that stands for the URL, by which hits are folded: URLs may be long."""

FOLD_SIMILAR = "fold_similar"
"""A number that stands for the signature, or for the id where there is none."""

YEARS = "years"
COLLECTIONS = "collections"

_OWN_FIELDS: dict[IndexName, dict[str, Any]] = {
    IndexName.DOCUMENTS: {name: {"type": "long"} for name in (NUMBER, FOLD_URL, FOLD_SIMILAR)},
    IndexName.DATES: {
        NUMBER: {"type": "long"},
        YEARS: {"type": "integer"},
        COLLECTIONS: {"type": "keyword", "ignore_above": 8_191},
    },
}
OWN_FIELDS = sorted({name for fields in _OWN_FIELDS.values() for name in fields})
"""Fields of this engine alone, worked out from those of the mappings."""

FIRST = "000001"
_LONGEST_KEYWORD = 8_191  # characters, of 4 bytes at most: Lucene's limit is 32,766 bytes
_PREFIX = re.compile(r"[a-z0-9][a-z0-9_.-]*")


class Schema:
    """The indices of an archive; each is an alias, so that a rebuilt one is swapped in whole."""

    def __init__(self, server: Server, settings: ElasticSettings) -> None:
        if not _PREFIX.fullmatch(settings.prefix):
            raise EngineError(
                f"{settings.prefix!r} is no prefix for indices; "
                f"use lower-case letters, digits, '-', '_' and '.'"
            )
        self._server = server
        self._settings = settings

    def name(self, index: IndexName) -> str:
        """Return the alias of an index."""
        return f"{self._settings.prefix}-{index}"

    def is_made(self, index: IndexName) -> bool:
        """Tell whether an index is there."""
        path = f"/{quoted(self.name(index))}"
        return bool(self._server.request("GET", path, params={"ignore_unavailable": "true"}))

    def create(self) -> None:
        """Make the indices that are missing.

        Raises EngineVersionError where one was made by another version of nwx.
        """
        versions = self._versions()
        for index in IndexName:
            if index not in versions:
                self._create(index)
            elif versions[index] != mappings.version(index):
                raise EngineVersionError(
                    f"the index {self.name(index)} at {self._server.address} has version "
                    f"{versions[index]}, this nwx wants {mappings.version(index)}; use the nwx "
                    f"that made it, or import into another prefix"
                )

    def stored_bytes(self, name: str) -> int | None:
        """Return the bytes that an index takes, None where the server does not tell."""
        answer = self._server.request("GET", f"/{quoted(name)}/_stats/store")
        store = answer["_all"]["primaries"].get("store")
        return None if store is None else int(store["size_in_bytes"])

    def _versions(self) -> dict[IndexName, int | None]:
        names = {self.name(index): index for index in IndexName}
        found = self._server.request(
            "GET", f"/{quoted(','.join(names))}", params={"ignore_unavailable": "true"}
        )
        versions = {}
        for concrete, state in found.items():
            for alias in (concrete, *state.get("aliases", {})):
                if alias in names:
                    versions[names[alias]] = state["mappings"].get("_meta", {}).get("version")
        return versions

    def _create(self, index: IndexName) -> None:
        name = self.name(index)
        self._create_as(index, name, f"{name}-{FIRST}")

    def create_dates(self, alias: str, name: str = "") -> str:
        """Make another index of dates; return its name, "" is the first of its alias."""
        name = name or f"{alias}-{FIRST}"
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


def index_body(index: IndexName, settings: ElasticSettings) -> dict[str, Any]:
    """Return what an index is made with: its mapping, shards, replicas and our limits."""
    source = mappings.mapping(index)
    limits: dict[str, Any] = {
        "number_of_shards": settings.shards,
        "number_of_replicas": settings.replicas,
    }
    fields = {name: _bounded(field) for name, field in mappings.properties(index).items()}
    if index is IndexName.DOCUMENTS:
        # A deleted document may come back at once: its version must not be remembered.
        limits["gc_deletes"] = "0s"
    return {
        "settings": source.get("settings", {}) | {"index": limits},
        "mappings": source["mappings"] | {"properties": fields | _OWN_FIELDS.get(index, {})},
    }


def _bounded(field: dict[str, Any]) -> dict[str, Any]:
    """Return a field that takes values of any length: one too long to index is only kept."""
    if field["type"] == "keyword":
        return {"ignore_above": _LONGEST_KEYWORD} | field
    return field


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


def own_of_dates(entry: IndexEntry) -> IndexEntry:
    """Return an entry of dates with this engine's fields."""
    return entry | {
        NUMBER: number_of(entry["id"]),
        YEARS: sorted({int(date[:4]) for date in entry["dates"]}),
        COLLECTIONS: sorted({seen.rpartition("/")[0] for seen in entry["seen"]}),
    }


def number_of(id: str) -> int:
    """Return the number that stands for an id: 63 bits of it."""
    return int(id[:16], 16) >> 1
