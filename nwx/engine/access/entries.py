"""Rules and changes of rules as entries of the index access, and back."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from nwx.engine.access.access_index import AccessChange, ChangeKind
from nwx.engine.access.rules import AccessRule, Action, Scope
from nwx.engine.entries import IndexEntry, clean_text

RULE, CHANGE = "rule", "change"
"""The kinds of entries."""

_SCOPE_TEXTS = tuple(field.name for field in fields(Scope) if field.name != "is_exact")
_TEXTS = ("until", "reason", "made_at", "made_by")


def rule_fields(rule: AccessRule) -> IndexEntry:
    """Return what an entry has of a rule; `rule` is its id."""
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


def rule_entry(rule: AccessRule) -> IndexEntry:
    """Return a rule as an entry."""
    return {"id": f"{RULE}/{rule.id}", "kind": RULE, **rule_fields(rule)}


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
