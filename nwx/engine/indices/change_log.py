"""Aliases of URLs, and the log of changes to captures and aliases that followers read."""

import hashlib
import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import groupby
from typing import NamedTuple

from nwx.engine.capture_index import CdxSpan
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.entry_store import EntryIndex, EntryStore
from nwx.model import Capture

_MOST_STEPS = 32
"""The longest chain of aliases that OutbackCDX follows."""


class Alias(NamedTuple):
    """The urlkeys of an alias and its target; an empty target removes the alias."""

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
        """Return the target of an alias, "" if the urlkey is not one."""
        return self._targets.get(urlkey, "")

    def resolved(self, urlkey: str) -> str:
        """Return the urlkey under which captures of a urlkey are listed."""
        seen = set[str]()
        while urlkey in self._targets and urlkey not in seen and len(seen) < _MOST_STEPS:
            seen.add(urlkey)
            urlkey = self._targets[urlkey]
        return urlkey

    def members(self, urlkey: str) -> list[str]:
        """Return the aliases that resolve to a urlkey."""
        return self._members.get(urlkey, [])

    def through(self, urlkey: str) -> list[str]:
        """Return a urlkey and the aliases that lead to it, directly or through others."""
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

    Changes take effect at once in every process, or after `seconds` if checking for them takes a
    request.
    """

    def __init__(self, store: EntryStore, seconds: float = 0.0) -> None:
        super().__init__(store)
        self._seconds, self._looked = seconds, -seconds
        self._version = ""
        self._known: Mapping[str, Aliases] = {}

    def of_collection(self, collection: str) -> Aliases | None:
        """Return the aliases of a collection, "" for all collections; None without any."""
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
        """Store aliases; remove those without a target and those that are their own target."""
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
    # Elasticsearch limits ids to 512 bytes, and urlkeys may be longer.
    return hashlib.sha256(f"{collection} {alias}".encode("utf-8", "replace")).hexdigest()


KEYS_AT_ONCE = 10_000
KEPT_DAYS = 30
"""The number of days for which the keys of deleted captures are kept."""

_WORTH_AN_ENTRY = 1_000
_READ_AT_ONCE = 500
_HEAD = "head"


class LoggedKind(StrEnum):
    """The subject of a log entry."""

    CAPTURES = "captures"
    DELETED = "deleted"
    ALIASES = "aliases"


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """A log entry: the first `captures` captures between two marks, or keys.

    For deleted captures, `until` is the last day (YYYYMMDD) on which their keys are kept.
    """

    number: int
    kind: LoggedKind
    since: str = ""
    until: str = ""
    captures: int = 0
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LogHead:
    """The number of the last entry of a log, and the mark up to which captures are logged.

    Entries up to `searched` need not be removed any more; `forgotten` is the last one removed.
    """

    number: int
    mark: str
    searched: int = 0
    forgotten: int = 0


class ChangeLog(EntryIndex):
    """The index changes of an engine; any number of processes add to it."""

    def head(self, collection: str) -> LogHead | None:
        """Return the head of a collection's log, None if it has no log."""
        id = _entry_id(collection, _HEAD)
        entry = self._store.get([id]).get(id)
        if entry is None:
            return None
        searched, forgotten = entry.get("captures", 0), int(entry.get("since") or 0)
        return LogHead(entry["number"], entry.get("until", ""), searched, forgotten)

    def begin(self, collection: str, aliases: AliasIndex) -> LogHead:
        """Return the head of a collection's log; begin one, with its aliases, if missing."""
        head = self.head(collection)
        if head is not None:
            return head
        id = _entry_id(collection, _HEAD)
        keys = [f"{one.alias} {one.alias}" for one in aliases.of_collection(collection) or ()]

        def change(found: Mapping[str, IndexEntry | None]) -> dict[str, IndexEntry | None]:
            if found.get(id):
                return {}
            first = _added(collection, None, LoggedKind.ALIASES, {"keys": keys}) if keys else {}
            return {id: {"id": id, "kind": _HEAD, "number": 0}, **first}

        self._store.update([id], change)
        return self.head(collection) or LogHead(0, "")

    def add_captures(
        self, collection: str, head: LogHead, mark: str, end: str, number: int
    ) -> None:
        """Log the first captures stored up to `end`, unless the head has moved on.

        The last of them has the `mark`. If they reach `end`, a small previous entry is merged in.
        """
        last = _entry_id(collection, f"{head.number:020}")
        ids = (_entry_id(collection, _HEAD), last)

        def change(found: Mapping[str, IndexEntry | None]) -> dict[str, IndexEntry | None]:
            known = found.get(ids[0])
            if known is None or known["number"] != head.number:
                return {}
            if not number:
                return {ids[0]: {**known, "until": mark}}
            before = found.get(last)
            few = before and before.get("captures", _WORTH_AN_ENTRY) < _WORTH_AN_ENTRY
            joined = few and mark == end
            since = (before or {}).get("since", "") if joined else head.mark
            captures = number + ((before or {})["captures"] if joined else 0)
            entry = {"since": since, "until": end, "captures": captures}
            added = _added(collection, known, LoggedKind.CAPTURES, entry)
            added[ids[0]] = {**(added[ids[0]] or {}), "until": mark}
            return added | ({last: None} if joined else {})

        self._store.update(ids, change)

    def followed(self, captures: Sequence[Capture]) -> list[Capture]:
        """Return the captures whose collections have a log, for `add_deleted`."""
        kept = {name for name in {one.collection for one in captures} if self.is_kept(name)}
        return [one for one in captures if one.collection in kept]

    def add_deleted(self, captures: Iterable[Capture], aliases: AliasIndex) -> None:
        """Log deleted captures, under the urlkeys by which they were listed."""
        for collection, some in groupby(sorted(captures, key=_collection), key=_collection):
            listed = (aliases.of_collection(collection) or Aliases()).resolved
            keys = [
                f"{listed(one.urlkey)} {one.timestamp} {one.source_file_offset} {one.source_file}"
                for one in some
            ]
            self.add_keys(collection, LoggedKind.DELETED, keys)

    def add_keys(self, collection: str, kind: LoggedKind, keys: Sequence[str]) -> None:
        """Log deleted captures or changed aliases, if the collection has a log."""
        if not (keys and self.is_kept(collection)):
            return
        id = _entry_id(collection, _HEAD)
        for begin in range(0, len(keys), KEYS_AT_ONCE):
            noted: IndexEntry = {"keys": list(keys[begin : begin + KEYS_AT_ONCE])}
            if kind is LoggedKind.DELETED:
                noted["until"] = f"{datetime.now(UTC) + timedelta(KEPT_DAYS):%Y%m%d}"

            def change(
                found: Mapping[str, IndexEntry | None], noted: IndexEntry = noted
            ) -> dict[str, IndexEntry | None]:
                return _added(collection, found[id], kind, noted)

            self._store.update([id], change)
        self.forget(collection)

    def forget(self, collection: str) -> None:
        """Remove log entries of captures deleted more than KEPT_DAYS ago."""
        head = self.head(collection)
        if head is None:
            return
        id, today = _entry_id(collection, _HEAD), f"{datetime.now(UTC):%Y%m%d}"
        searched, old = head.searched, list[int]()
        for entry in self.after(collection, searched):
            if entry.kind is LoggedKind.DELETED:
                if entry.until >= today:
                    break
                old.append(entry.number)
            searched = entry.number
        if not old and searched < head.searched + _READ_AT_ONCE:
            return
        noted = {"captures": searched, "since": str(old[-1] if old else head.forgotten)}

        def change(found: Mapping[str, IndexEntry | None]) -> dict[str, IndexEntry | None]:
            gone = dict.fromkeys((_entry_id(collection, f"{one:020}") for one in old), None)
            return {id: {**(found[id] or {}), **noted}, **gone}

        self._store.update([id], change)

    def is_kept(self, collection: str) -> bool:
        """Return whether changes of a collection are logged, as a follower has requested them."""
        return self._store.is_made() and self.head(collection) is not None

    def after(self, collection: str, number: int) -> Iterator[LoggedChange]:
        """Yield the log entries after a number."""
        head = self.head(collection) or LogHead(0, "")
        for begin in range(number + 1, head.number + 1, _READ_AT_ONCE):
            some = range(begin, min(begin + _READ_AT_ONCE, head.number + 1))
            found = self._store.get([_entry_id(collection, f"{one:020}") for one in some])
            for id in sorted(found):
                entry = found[id]
                yield LoggedChange(
                    entry["number"],
                    LoggedKind(entry["kind"]),
                    entry.get("since", ""),
                    entry.get("until", ""),
                    entry.get("captures", 0),
                    tuple(entry.get("keys", ())),
                )


def _collection(capture: Capture) -> str:
    return capture.collection


def _entry_id(collection: str, name: str) -> str:
    return f"{collection}/{name}"


def _added(
    collection: str, head: IndexEntry | None, kind: LoggedKind, values: IndexEntry
) -> dict[str, IndexEntry | None]:
    """Return the entries to write for a new log entry: itself, and the head advanced to it."""
    number = (head or {"number": 0})["number"] + 1
    head_id, id = (
        _entry_id(collection, _HEAD),
        _entry_id(collection, f"{number:020}"),
    )
    moved = {**(head or {}), "id": head_id, "kind": _HEAD, "number": number}
    return {head_id: moved, id: {"id": id, "kind": kind, "number": number, **values}}
