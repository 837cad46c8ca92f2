"""Access rules in normal form."""

from dataclasses import replace

import pytest

from nwx.engine.access.rules import (
    EVERYBODY,
    AccessRule,
    Action,
    Role,
    Scope,
    Viewer,
    checked_rule,
    rule_id,
)
from nwx.errors import UsageError

BLOCK = AccessRule("", Action.BLOCK, Scope(prefix="com,example)/a"))


def test_a_checked_rule_has_its_normal_form_and_an_id() -> None:
    scope = Scope(digest="A" * 32, date_from="2014", date_to="2015-02-03T04:05:06Z")
    made = AccessRule(
        "", Action.LOCAL, scope, addresses=("10.1.2.3/8", "::1"), users=(" b ", "a"), reason=" r "
    )
    rule = checked_rule(made)
    assert rule.scope == Scope(
        digest=f"sha1:{'A' * 32}", date_from="20140101000000", date_to="20150203040506"
    )
    assert (rule.addresses, rule.users, rule.reason) == (("10.0.0.0/8", "::1/128"), ("a", "b"), "r")
    assert rule.id == rule_id(rule)
    assert checked_rule(rule) == rule


def test_the_id_is_that_of_action_scope_and_viewers() -> None:
    rule = checked_rule(BLOCK)
    same = replace(BLOCK, reason="another", purged=True, scope=replace(BLOCK.scope, url="x"))
    assert checked_rule(same).id == rule.id
    others = [
        replace(BLOCK, action=Action.EXCLUDE),
        replace(BLOCK, scope=replace(BLOCK.scope, is_exact=True)),
        replace(BLOCK, users=("a",)),
    ]
    assert len({rule.id, *(checked_rule(each).id for each in others)}) == 4


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"action": Action.EMBARGO}, "needs its end"),
        ({"until": "2030"}, "only an embargo"),
        ({"action": Action.EMBARGO, "until": "2030", "years": 3}, "not both"),
        ({"action": Action.EMBARGO, "years": 0}, "1 to 1,000 years"),
        ({"action": Action.EMBARGO, "until": "soon"}, "'soon' is no"),
        ({"action": Action.LOCAL}, "addresses or users"),
        ({"addresses": ("10.0.0",)}, "is not a network"),
        ({"users": (" ",)}, "is empty"),
        ({"scope": Scope(digest="x")}, "digest"),
        ({"scope": Scope(is_exact=True)}, "needs the URL"),
        ({"scope": Scope(date_from="2015", date_to="2014")}, "swap"),
        ({"scope": Scope(prefix="a" * 9_000)}, "8,000 characters"),
        ({"reason": "a" * 3_000}, "2,000 characters"),
        ({"users": tuple(map(str, range(1_001)))}, "1,000 users"),
        ({"action": "hide"}, "hide"),
    ],
    ids=str,
)
def test_what_cannot_hold_is_refused(wrong: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        checked_rule(replace(BLOCK, **wrong))  # type: ignore[arg-type]


def test_curators_and_administrators_see_all() -> None:
    assert [Viewer(role=role).sees_all for role in Role] == [False, True, True]
    assert not EVERYBODY.sees_all


def test_a_scope_without_parts_is_everything() -> None:
    assert Scope().is_everything
    assert Scope(url="*").is_everything
    assert not Scope(collection="web").is_everything
