"""What storing and removing rules changes, worked out before it is written."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from nwx.engine.access.access_index import AccessChange, ChangeKind
from nwx.engine.access.rules import AccessRule, checked_rule
from nwx.values.timestamps import to_timestamp


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
    """Return the changes that storing checked rules makes to those that are known by their ids.

    What was purged stays so, or imports would bring it back: only removing
    the rule ends that.
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
