"""The log of changes of captures and aliases, which followers of an archive read.

A collection is logged from the first time that somebody asks for its changes. Entries are numbered
from 1; one is the captures stored between two marks, or the keys of captures that were deleted, or
the urlkeys of aliases that were changed. Keys of deleted captures are forgotten after a while.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import groupby

from nwx.engine.entries import IndexEntry
from nwx.engine.indices.alias_index import Aliases, AliasIndex
from nwx.engine.indices.entry_store import EntryIndex
from nwx.model import Capture

KEYS_AT_ONCE = 10_000
KEPT_DAYS = 30
"""The keys of deleted captures are kept so long."""

_WORTH_AN_ENTRY = 1_000
_READ_AT_ONCE = 500
_HEAD = "head"


class LoggedKind(StrEnum):
    """What an entry of the log is about."""

    CAPTURES = "captures"
    DELETED = "deleted"
    ALIASES = "aliases"


@dataclass(frozen=True, slots=True)
class LoggedChange:
    """An entry of the log: the first captures between two marks, so many, or keys.

    `until` is the last day (YYYYMMDD) on which the keys of deleted captures are kept.
    """

    number: int
    kind: LoggedKind
    since: str = ""
    until: str = ""
    captures: int = 0
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LogHead:
    """The number of the last entry of a log, and the mark that its captures reach to.

    No entry up to `searched` has to be forgotten; the last that was is `forgotten`.
    """

    number: int
    mark: str
    searched: int = 0
    forgotten: int = 0


class ChangeLog(EntryIndex):
    """The index changes of an engine; any number of processes add to it."""

    def head(self, collection: str) -> LogHead | None:
        """Return where the log of a collection ends, None where there is none."""
        id = _id(collection, _HEAD)
        entry = self._store.get([id]).get(id)
        if entry is None:
            return None
        searched, forgotten = entry.get("captures", 0), int(entry.get("since") or 0)
        return LogHead(entry["number"], entry.get("until", ""), searched, forgotten)

    def begin(self, collection: str, aliases: AliasIndex) -> LogHead:
        """Return where the log of a collection ends; begin one, with its aliases, if missing."""
        head = self.head(collection)
        if head is not None:
            return head
        id = _id(collection, _HEAD)
        keys = [f"{one.alias} {one.alias}" for one in aliases.of(collection) or ()]

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

        The last of them has the `mark`; few, up to `end`, are put together with those before.
        """
        last = _id(collection, f"{head.number:020}")
        ids = (_id(collection, _HEAD), last)

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
        """Log captures that were deleted, under the urlkeys that they were listed under."""
        for collection, some in groupby(sorted(captures, key=_collection), key=_collection):
            listed = (aliases.of(collection) or Aliases()).resolved
            keys = [
                f"{listed(one.urlkey)} {one.timestamp} {one.source_file_offset} {one.source_file}"
                for one in some
            ]
            self.add_keys(collection, LoggedKind.DELETED, keys)

    def add_keys(self, collection: str, kind: LoggedKind, keys: Sequence[str]) -> None:
        """Log deleted captures or changed aliases, if the collection has a log."""
        if not (keys and self.is_kept(collection)):
            return
        id = _id(collection, _HEAD)
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
        """Remove what was logged of captures that were deleted more than `KEPT_DAYS` ago."""
        head = self.head(collection)
        if head is None:
            return
        id, today = _id(collection, _HEAD), f"{datetime.now(UTC):%Y%m%d}"
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
            gone = dict.fromkeys((_id(collection, f"{one:020}") for one in old), None)
            return {id: {**(found[id] or {}), **noted}, **gone}

        self._store.update([id], change)

    def is_kept(self, collection: str) -> bool:
        """Return whether changes of a collection are logged: somebody has asked for them."""
        return self._store.is_made() and self.head(collection) is not None

    def after(self, collection: str, number: int) -> Iterator[LoggedChange]:
        """Stream the entries after a number."""
        head = self.head(collection) or LogHead(0, "")
        for begin in range(number + 1, head.number + 1, _READ_AT_ONCE):
            some = range(begin, min(begin + _READ_AT_ONCE, head.number + 1))
            found = self._store.get([_id(collection, f"{one:020}") for one in some])
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


def _id(collection: str, name: str) -> str:
    return f"{collection}/{name}"


def _added(
    collection: str, head: IndexEntry | None, kind: LoggedKind, values: IndexEntry
) -> dict[str, IndexEntry | None]:
    """Return the entries to write for a new one: itself, and the head moved on to it."""
    number = (head or {"number": 0})["number"] + 1
    head_id, id = _id(collection, _HEAD), _id(collection, f"{number:020}")
    moved = {**(head or {}), "id": head_id, "kind": _HEAD, "number": number}
    return {head_id: moved, id: {"id": id, "kind": kind, "number": number, **values}}
