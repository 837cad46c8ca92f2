"""Additional digests of payloads: captures with a SHA-1 are found by SHA-256 too, and vice versa.

The id of an entry is a digest, which no capture needs to have; `digests` are the digests that
captures with the same payload have. The states of the index are settings for later imports.
"""

import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from nwx.bulk.progress import batches
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.entry_store import EntryIndex, EntryStore
from nwx.errors import DigestError, UsageError
from nwx.query.question import Question
from nwx.query.tree import Bool, Boost, Node, Term
from nwx.settings import DEDUP_SCOPES
from nwx.values.digests import normal_digest

if TYPE_CHECKING:
    from nwx.engine.base import Engine

DigestPair = tuple[str, str]
"""An additional digest of a payload, and the one that its captures have; both in normal form."""

_STATE = "kept"
_SCOPE = "scope-"
_ENRICHERS = "enrichers"
_AT_ONCE = 1_000


class DigestIndex(EntryIndex):
    """The index digests of an engine.

    If checking takes a request, a missing index is checked for again after `seconds`.
    """

    def __init__(self, store: EntryStore, seconds: float = 0.0) -> None:
        super().__init__(store)
        self._seconds, self._missing_until = seconds, 0.0

    def is_kept(self) -> bool:
        """Return whether imports must add additional digests."""
        return self.state(_STATE) == b"1"

    def keep(self, *, wanted: bool) -> None:
        """Set whether later imports add additional digests."""
        if wanted != self.is_kept():
            self.put_state(_STATE, b"1" if wanted else b"0")

    def enrichers(self) -> tuple[str, ...]:
        """Return the names of the enrichers that imports must run."""
        return tuple((self.state(_ENRICHERS) or b"").decode().split())

    def keep_enrichers(self, names: Collection[str]) -> None:
        """Set the enrichers that later imports run."""
        if tuple(names) != self.enrichers():
            self.put_state(_ENRICHERS, " ".join(names).encode())

    def scope(self, collection: str) -> str:
        """Return the scope of captures offered for a collection (DEDUP_SCOPES), by default all."""
        kept = (self.state(_SCOPE + collection) or self.state(_SCOPE) or b"").decode()
        return kept if kept in DEDUP_SCOPES else DEDUP_SCOPES[0]

    def keep_scope(self, scope: str, collections: Iterable[str]) -> None:
        """Store the scope of collections; "" sets the default of those without one."""
        for collection in collections:
            self.put_state(_SCOPE + collection, scope.encode())

    def is_made(self) -> bool:
        if self._seconds and time.monotonic() < self._missing_until:
            return False
        made = self._store.is_made()
        if not made:
            self._missing_until = time.monotonic() + self._seconds
        return made

    def same(self, digest: str) -> tuple[str, ...]:
        """Return a digest, and the digests that captures with the same payload have."""
        return (digest, *self.held([digest]).get(digest, ()))

    def held(self, further: Collection[str]) -> dict[str, list[str]]:
        """Return, by additional digest, the digests that captures with the same payload have."""
        found = self._store.get(further) if further and self.is_made() else {}
        return {id: entry["digests"] for id, entry in found.items()}

    def add(self, pairs: Iterable[DigestPair]) -> int:
        """Store pairs; return the number of additional digests with new pairs."""
        wanted = defaultdict[str, set[str]](set)
        for further, known in pairs:
            wanted[further].add(known)
        added, self._missing_until = 0, 0.0
        for some in batches(sorted(wanted), _AT_ONCE):
            added += len(self._store.update(some, lambda found: _added(found, wanted)))
        return added

    def pairs(self) -> Iterator[DigestPair]:
        """Yield all pairs, in the order of the additional digests."""
        if self.is_made():
            for entry in self._store.find():
                for known in entry["digests"]:
                    yield entry["id"], known

    def remove(self, known: Collection[str]) -> int:
        """Remove pairs of digests that no capture has any more; return how many entries changed."""
        gone, removed = set(known), 0
        for some in batches(sorted(gone) if self.is_made() else (), _AT_ONCE):
            found = [entry["id"] for entry in self._store.find({"digests": tuple(some)})]
            removed += len(self._store.update(found, lambda entries: _without(entries, gone)))
        return removed

    def further(self, known: str) -> list[str]:
        """Return the additional digests of the payload of captures with a digest."""
        if not self.is_made():
            return []
        return [entry["id"] for entry in self._store.find({"digests": known})]


_NAMED = re.compile(r"\b(?:digest|hash)\s*:", re.IGNORECASE)


def with_same_digests(index: DigestIndex, question: Question) -> Question:
    """Return a question whose conditions on digests hold for all digests of the same payload."""
    query = question.query
    if isinstance(query, str):
        if not _NAMED.search(query):
            return question
        from nwx.query.parser import parse_query  # which loads the grammar

        query = parse_query(query)
    return replace(question, query=_widened(query, index))


def _widened(node: Node, index: DigestIndex) -> Node:
    match node:
        case Term(field="digest"):
            same = index.same(node.text)
            return Bool(should=tuple(Term("digest", one) for one in same)) if same[1:] else node
        case Boost():
            return replace(node, node=_widened(node.node, index))
        case Bool():
            must, should, must_not = (
                tuple(_widened(one, index) for one in part)
                for part in (node.must, node.should, node.must_not)
            )
            return replace(node, must=must, should=should, must_not=must_not)
    return node


def held_digest(engine: "Engine", digest: str) -> str:
    """Return the digest that the captures of a payload have, for a rule on an additional digest.

    No digest is "". Raises UsageError if they have several: each needs a separate rule.
    """
    same = engine.digests.same(digest) if digest else ("",)
    held = [one for one in same if next(engine.captures_of_digest(one), None)] if same[1:] else []
    if len(held) > 1:
        raise UsageError(f"captures of this payload have other digests too: {', '.join(held)}")
    return held[0] if held else digest


def _added(
    found: Mapping[str, IndexEntry | None], wanted: Mapping[str, set[str]]
) -> dict[str, IndexEntry | None]:
    changed: dict[str, IndexEntry | None] = {}
    for id, entry in found.items():
        held = set(entry["digests"]) if entry else set()
        if not wanted[id] <= held:
            changed[id] = {"id": id, "digests": sorted(held | wanted[id])}
    return changed


def _without(
    found: Mapping[str, IndexEntry | None], gone: set[str]
) -> dict[str, IndexEntry | None]:
    changed: dict[str, IndexEntry | None] = {}
    for id, entry in found.items():
        left = [one for one in entry["digests"] if one not in gone] if entry else []
        if entry and left != entry["digests"]:
            changed[id] = {"id": id, "digests": left} if left else None
    return changed


def pair_faults(entries: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield the ids of entries that do not pair digests of different kinds, with a message."""
    for entry in entries:
        digests = [str(entry["id"]), *entry["digests"]]
        kinds = [_kind(one) for one in digests]
        if "" in kinds or len(kinds) < 2 or kinds[0] in kinds[1:]:
            yield digests[0], f"{' = '.join(digests)} is not a pair of digests of one payload"


def _kind(digest: str) -> str:
    try:
        return digest.partition(":")[0] if normal_digest(digest) == digest else ""
    except DigestError:
        return ""
