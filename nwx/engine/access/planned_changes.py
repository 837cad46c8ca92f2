"""Changes of access rules: planned before they are written, and rules and changes as entries."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from nwx.engine.access.rules import AccessRule, Action, Scope, checked_rule
from nwx.engine.entries import IndexEntry, clean_text
from nwx.values.timestamps import to_timestamp


class ChangeKind(StrEnum):
    """Kind of change to a rule."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class AccessChange:
    """An entry of the log: the change to a rule, when (14 digits) and by whom.

    `rule` is the rule as stored, or as it was when removed.
    """

    kind: ChangeKind
    rule: AccessRule
    at: str
    by: str


def checked_rules(rules: Iterable[AccessRule], by: str) -> tuple[AccessRule, ...]:
    """Return rules in their normal form, the last of each id, with who made them and when."""
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

    A purged rule stays purged, or imports would bring its captures back: only removing the rule
    ends that.
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
    """Return the changes that removing rules makes."""
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
    """Return the rule of an entry, which may be that of a change."""
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
