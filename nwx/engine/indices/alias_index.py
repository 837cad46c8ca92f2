"""Aliases of URLs: captures of an alias count as captures of its target, as in OutbackCDX."""

import hashlib
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from nwx.engine.capture_index import CdxSpan
from nwx.engine.indices.entry_store import EntryIndex, EntryStore

_MOST_STEPS = 32
"""The longest chain of aliases that OutbackCDX follows."""


class Alias(NamedTuple):
    """The urlkeys of an alias and of its target; without a target it is to be removed."""

    alias: str
    target: str


class Aliases:
    """The aliases of a collection, or of all collections."""

    def __init__(self, pairs: Iterable[tuple[str, str]] = ()) -> None:
        self._targets = dict(pairs)
        self._members = defaultdict[str, list[str]](list)
        for alias in sorted(self._targets):
            self._members[self.resolved(alias)].append(alias)
        self._ends = sorted(self._members)
        self._touched = sorted(self._targets.keys() | self._members.keys())

    def __contains__(self, urlkey: str) -> bool:
        return urlkey in self._targets

    def __iter__(self) -> Iterator[Alias]:
        return (Alias(*pair) for pair in sorted(self._targets.items()))

    def target(self, urlkey: str) -> str:
        """Return the target of an alias, "" if it is none."""
        return self._targets.get(urlkey, "")

    def resolved(self, urlkey: str) -> str:
        """Return the urlkey that captures of a urlkey are listed under."""
        seen = set[str]()
        while urlkey in self._targets and urlkey not in seen and len(seen) < _MOST_STEPS:
            seen.add(urlkey)
            urlkey = self._targets[urlkey]
        return urlkey

    def members(self, urlkey: str) -> list[str]:
        """Return the aliases that resolve to a urlkey."""
        return self._members.get(urlkey, [])

    def through(self, urlkey: str) -> list[str]:
        """Return a urlkey and the aliases that lead to it, directly or by others."""
        found, fresh = {urlkey: None}, {urlkey}
        while fresh:
            fresh = {one for one, to in self._targets.items() if to in fresh} - found.keys()
            found |= dict.fromkeys(sorted(fresh))
        return list(found)

    def touches(self, span: CdxSpan) -> bool:
        """Return whether any alias or target lies in a span."""
        first, _, last, _ = span.bounds()
        place = bisect_left(self._touched, first)
        return place < len(self._touched) and self._touched[place] <= last

    def targets_in(self, span: CdxSpan) -> list[str]:
        """Return the resolved targets in a span, in order."""
        first, _, last, until = span.bounds()
        begin, end = bisect_left(self._ends, first), bisect_left(self._ends, last)
        return self._ends[begin : end + (self._ends[end : end + 1] == [last] and until != "")]


class AliasIndex(EntryIndex):
    """The index aliases of an engine.

    Changes take effect at once in every process, or after `seconds` where looking for them takes a
    request.
    """

    def __init__(self, store: EntryStore, seconds: float = 0.0) -> None:
        super().__init__(store)
        self._seconds, self._looked = seconds, -seconds
        self._version = ""
        self._known: Mapping[str, Aliases] = {}

    def of(self, collection: str) -> Aliases | None:
        """Return the aliases of a collection, for "" of all; None without any."""
        now = time.monotonic() if self._seconds else 0.0
        if now - self._looked < self._seconds:
            return self._known.get(collection)
        version, self._looked = self._store.version(), now
        if version != self._version:
            pairs = defaultdict[str, list[tuple[str, str]]](list)
            for entry in self._store.find():
                for name in (entry["collection"], ""):
                    pairs[name].append((entry["alias"], entry["target"]))
            self._known = {name: Aliases(sorted(found)) for name, found in pairs.items()}
            self._version = version
        return self._known.get(collection)

    def change(self, collection: str, aliases: Collection[Alias]) -> None:
        """Store aliases; remove those without a target and those of themselves."""
        self._looked = -self._seconds
        kept = {one.alias: one.target for one in aliases}
        gone = [alias for alias, target in kept.items() if target in ("", alias)]
        self._store.delete([_id(collection, alias) for alias in gone])
        self._store.put(
            [
                {
                    "id": _id(collection, alias),
                    "collection": collection,
                    "alias": alias,
                    "target": target,
                }
                for alias, target in kept.items()
                if target not in ("", alias)
            ]
        )


def _id(collection: str, alias: str) -> str:
    # Elasticsearch takes ids of 512 bytes, and urlkeys are longer.
    return hashlib.sha256(f"{collection} {alias}".encode("utf-8", "replace")).hexdigest()
