"""Access rules in an engine: storage and change log; purges of entries."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from itertools import count
from typing import TYPE_CHECKING, Any

from nwx.data_classes import dataclass
from nwx.engine.access.decisions import AccessRules, AskedCapture
from nwx.engine.access.rules import AccessRule, Action, Scope, checked_rule
from nwx.engine.entries import IndexEntry, clean_text
from nwx.engine.indices.entry_store import EntryIndex, EntryStore, OrderField
from nwx.errors import FormatError
from nwx.model import Dates
from nwx.values.timestamps import to_timestamp
from nwx.values.urlkeys import urlkey

if TYPE_CHECKING:
    from nwx.engine.base import Engine


class ChangeKind(StrEnum):
    """Kind of change to a rule."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class AccessChange:
    """A log entry: the change to a rule, with time (14 digits) and author.

    `rule` is the rule as stored, or as it was before its removal.
    """

    kind: ChangeKind
    rule: AccessRule
    at: str
    by: str


def checked_rules(rules: Iterable[AccessRule], by: str) -> tuple[AccessRule, ...]:
    """Return rules in normal form, the last of each id, with author and time filled in."""
    now = to_timestamp(datetime.now(UTC))
    checked = (
        replace(checked_rule(each), made_at=each.made_at or now, made_by=each.made_by or by)
        for each in rules
    )
    return tuple({rule.id: rule for rule in checked}.values())


def changes_by_storing(
    rules: Iterable[AccessRule], known: Mapping[str, AccessRule], by: str
) -> list[AccessChange]:
    """Return the changes made by storing checked rules over the known ones, by id.

    A purged rule stays purged until it is removed; otherwise imports would bring its captures back.
    """
    now = to_timestamp(datetime.now(UTC))
    wanted = [_still_purged(rule, known) for rule in rules]
    return [
        AccessChange(ChangeKind.CHANGED if rule.id in known else ChangeKind.ADDED, rule, now, by)
        for rule in wanted
        if rule.id not in known or _differ(rule, known[rule.id])
    ]


def _still_purged(rule: AccessRule, known: Mapping[str, AccessRule]) -> AccessRule:
    before = known.get(rule.id)
    return replace(rule, purged=True) if before is not None and before.purged else rule


def changes_by_removing(
    ids: Collection[str], known: Mapping[str, AccessRule], by: str
) -> list[AccessChange]:
    """Return the changes made by removing rules."""
    now = to_timestamp(datetime.now(UTC))
    return [
        AccessChange(ChangeKind.REMOVED, known[id], now, by)
        for id in dict.fromkeys(ids)
        if id in known
    ]


def _differ(rule: AccessRule, known: AccessRule) -> bool:
    return rule != replace(known, made_at=rule.made_at, made_by=rule.made_by)


RULE, CHANGE = "rule", "change"
"""The kinds of entries."""

_SCOPE_TEXTS = tuple(field.name for field in fields(Scope) if field.name != "is_exact")
_TEXTS = ("until", "reason", "made_at", "made_by")


def rule_fields(rule: AccessRule) -> IndexEntry:
    """Return the fields of a rule in an entry; `rule` is its id."""
    values: IndexEntry = {
        "rule": rule.id,
        "action": str(rule.action),
        **{name: clean_text(getattr(rule.scope, name)) for name in _SCOPE_TEXTS},
        "is_exact": rule.scope.is_exact or None,
        "years": rule.years,
        "addresses": list(rule.addresses),
        "users": [clean_text(user) for user in rule.users],
        **{name: clean_text(getattr(rule, name)) for name in _TEXTS},
        "purged": rule.purged or None,
    }
    return {name: value for name, value in values.items() if value not in (None, "", [])}


def rule_entry_id(id: str) -> str:
    """Return the id of the entry of a rule."""
    return f"{RULE}/{id}"


def rule_entry(rule: AccessRule) -> IndexEntry:
    """Return a rule as an entry."""
    return {"id": rule_entry_id(rule.id), "kind": RULE, **rule_fields(rule)}


def rule_from_entry(entry: Mapping[str, Any]) -> AccessRule:
    """Return the rule of an entry of a rule or of a change."""
    scope = Scope(
        **{name: entry.get(name, "") for name in _SCOPE_TEXTS},
        is_exact=entry.get("is_exact", False),
    )
    return AccessRule(
        entry["rule"],
        Action(entry["action"]),
        scope,
        years=entry.get("years"),
        addresses=tuple(entry.get("addresses", ())),
        users=tuple(entry.get("users", ())),
        purged=entry.get("purged", False),
        **{name: entry.get(name, "") for name in _TEXTS},
    )


def change_entry(change: AccessChange, number: str) -> IndexEntry:
    """Return a change as an entry; `number` grows with the changes of an archive."""
    noted = {"change": str(change.kind), "at": change.at, "by": clean_text(change.by)}
    return {
        "id": f"{CHANGE}/{number}",
        "kind": CHANGE,
        **{name: value for name, value in noted.items() if value},
        **rule_fields(change.rule),
    }


def change_from_entry(entry: Mapping[str, Any]) -> AccessChange:
    """Return the change of an entry."""
    kind = ChangeKind(entry["change"])
    return AccessChange(kind, rule_from_entry(entry), entry["at"], entry.get("by", ""))


_Plan = Callable[[Iterable[str], Mapping[str, AccessRule]], list[AccessChange]]
"""Returns the changes for entry ids, from the stored rules by rule id."""

_NEWEST = (OrderField("id", descending=True),)


class AccessIndex(EntryIndex):
    """The index access of an engine; it can be written to during an import.

    Changes take effect at once in every process that has the archive open.
    """

    def __init__(self, store: EntryStore) -> None:
        super().__init__(store)
        self._rules = AccessRules()

    def version(self) -> str:
        """Return a text that changes with each change of the rules, "" before the first; cheap.

        The part before its last `-` changes with `renew`.
        """
        return self._store.version()

    def rules(self) -> AccessRules:
        """Return all rules, by id; the same object until they change."""
        version = self.version()
        known = self._rules
        if version == known.version:
            return known
        # If the rules read are newer than the version, they are read again with the next version.
        rules = map(rule_from_entry, self._store.find({"kind": RULE}))
        self._rules = found = AccessRules(rules, version)
        return found

    def put(self, rules: Iterable[AccessRule], by: str) -> tuple[AccessRule, ...]:
        """Store rules, all or none, and log the change; return them as stored.

        Each rule is checked (`nwx.engine.access.rules.checked_rule`) and replaces the rule of its
        id: the same action, scope and viewers. `made_at` and `made_by` are filled in if "". A rule
        already stored with the same reason changes nothing. Raises UsageError on an invalid rule.
        """
        wanted = {rule_entry_id(rule.id): rule for rule in checked_rules(rules, by)}
        stored: dict[str, AccessRule] = {}

        def planned(ids: Iterable[str], known: Mapping[str, AccessRule]) -> list[AccessChange]:
            changes = changes_by_storing([wanted[id] for id in ids], known, by)
            stored.update({**known, **{change.rule.id: change.rule for change in changes}})
            return changes

        if wanted:
            self._change(wanted, planned)
        return tuple(stored[rule.id] for rule in wanted.values())

    def remove(self, ids: Collection[str], by: str) -> int:
        """Remove rules and log the removal; return the number removed."""
        removed: set[str] = set()

        def planned(_: Iterable[str], known: Mapping[str, AccessRule]) -> list[AccessChange]:
            removed.update(known)
            return changes_by_removing(known, known, by)

        if ids and self.version():
            self._change([rule_entry_id(id) for id in ids], planned)
        return len(removed)

    def _change(self, ids: Collection[str], planned: _Plan) -> None:
        """Write the changes planned from the existing rules with these entry ids."""
        numbers = count(max(time.time_ns(), self._last_number() + 1))

        def change(found: Mapping[str, IndexEntry | None]) -> dict[str, IndexEntry | None]:
            rules = (rule_from_entry(entry) for entry in found.values() if entry)
            changed: dict[str, IndexEntry | None] = {}
            for one in planned(found, {rule.id: rule for rule in rules}):
                entry = rule_entry(one.rule)
                changed[entry["id"]] = None if one.kind is ChangeKind.REMOVED else entry
                noted = change_entry(one, f"{next(numbers):020}-{one.rule.id}")
                changed[noted["id"]] = noted
            return changed

        self._store.update(ids, change)

    def _last_number(self) -> int:
        """Return the number of the last change, so that the log stays in order."""
        last = next(self._store.find({"kind": CHANGE}, _NEWEST, 1), None)
        return int(last["id"].partition("/")[2].partition("-")[0]) if last else 0

    def renew(self) -> None:
        """Invalidate results derived from the rules, because the known dates have changed.

        Does nothing if the archive never had a rule.
        """
        self._store.renew()

    def changes(self, limit: int, offset: int = 0) -> list[AccessChange]:
        """Return the log, the newest entry first; entries are never changed or removed."""
        found = self._store.find({"kind": CHANGE}, _NEWEST, limit, offset)
        return [change_from_entry(entry) for entry in found]


_PURGING = "purging {}"
"""A state for each rule: several may be purged at once."""


@contextmanager
def noted_purge(access: AccessIndex, rule_id: str) -> Iterator[None]:
    """Record that a rule is being purged, until the context ends without an error."""
    access.put_state(_PURGING.format(rule_id), b"1")
    yield
    access.put_state(_PURGING.format(rule_id), b"")


def stopped_purges(engine: "Engine") -> Iterator[tuple[str, str]]:
    """Yield the ids of rules whose purge has not ended, each with advice."""
    access = engine.access_index()
    for rule in access.rules().rules:
        if rule.purged and access.state(_PURGING.format(rule.id)):
            purge = "its purge was stopped, or is running"
            yield rule.id, f"{purge}: run the same `nwx takedown --purge` again"


class Purger(ABC):
    """The engine's part of a purge, in addition to `Engine.delete`.

    Each method can be interrupted at any moment and called again.
    """

    @abstractmethod
    def own_dates(self) -> list[str]:
        """Return the names of the dates indices created by the archive, except the main one."""

    @abstractmethod
    def remove_dates(self, place: str, dates: Sequence[Dates]) -> int:
        """Remove pairs of timestamp and collection; return the number removed.

        `place` names the main dates index or another that the archive created. Keys without
        remaining dates are removed too.
        """

    @abstractmethod
    def erase(self, wait_seconds: float) -> tuple[str, ...]:
        """Erase previously deleted data from all files of the archive.

        Returns the files or indices that still contain it, because others used them for longer than
        `wait_seconds`.
        """

    def copies_away(self) -> tuple[str, ...]:
        """Return the indices with outdated copies on unavailable nodes."""
        return ()


def purged_seen(rules: AccessRules, dates: Dates) -> tuple[tuple[str, str], ...]:
    """Return the pairs of timestamp and collection of a key that rules purge."""
    url, _, digest = dates.key.rpartition(" ")
    try:
        key = urlkey(url)
    except FormatError:
        return ()
    return tuple(
        (timestamp, collection)
        for timestamp, collection in dates.seen
        if rules.purges(AskedCapture(key, url, digest, collection, timestamp=timestamp))
    )


def unpurged_dates(rules: AccessRules, every: Iterable[Dates]) -> Iterator[Dates]:
    """Yield dates not purged by rules; a key with no date left is omitted."""
    if not any(rule.purged for rule in rules.rules):
        yield from every
        return
    for dates in every:
        purged = purged_seen(rules, dates)
        if not purged:
            yield dates
        elif len(purged) < len(dates.seen):
            yield Dates(dates.key, tuple(pair for pair in dates.seen if pair not in purged))
