"""Access rules in an engine: storage, change log, and compiled states."""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from itertools import count

from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.planned_changes import (
    CHANGE,
    RULE,
    AccessChange,
    ChangeKind,
    change_entry,
    change_from_entry,
    changes_by_removing,
    changes_by_storing,
    checked_rules,
    rule_entry,
    rule_entry_id,
    rule_from_entry,
)
from nwx.engine.access.rules import AccessRule
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.entry_store import EntryIndex, EntryStore, OrderField

_Plan = Callable[[Iterable[str], Mapping[str, AccessRule]], list[AccessChange]]
"""Gives changes of the rules of some ids of entries, from those known by their own ids."""

_NEWEST = (OrderField("id", descending=True),)


class AccessIndex(EntryIndex):
    """The index access of an engine; it can be written to during an import.

    Changes take effect at once in every process that has the archive open.
    """

    def __init__(self, store: EntryStore) -> None:
        super().__init__(store)
        self._rules = AccessRules()

    def version(self) -> str:
        """Return a text that changes with each change of the rules; "" before the first. Cheap.

        The part before its last `-` changes with `renew`.
        """
        return self._store.version()

    def rules(self) -> AccessRules:
        """Return all rules, by id; the same object until they change."""
        version = self.version()
        known = self._rules
        if version == known.version:
            return known
        # Rules that are newer than the version are read again once that has changed.
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
        """Remove rules and note it in the log; return how many there were."""
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
        """Return the log, the newest entry first; no method changes or removes any."""
        found = self._store.find({"kind": CHANGE}, _NEWEST, limit, offset)
        return [change_from_entry(entry) for entry in found]
