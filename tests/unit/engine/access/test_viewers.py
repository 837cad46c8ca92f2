"""Which rules name a viewer."""

import pytest

from nwx.engine.access.rules import AccessRule, Action, Scope, Viewer
from nwx.engine.access.viewers import ViewerClasses

RULES = [
    AccessRule("a", Action.BLOCK, Scope()),
    AccessRule("b", Action.LOCAL, Scope(), addresses=("10.0.0.0/8", "2001:db8::/32")),
    AccessRule("c", Action.LOCAL, Scope(), addresses=("10.1.0.0/16",), users=("eva",)),
]


@pytest.mark.parametrize(
    ("viewer", "named"),
    [
        (Viewer(), set()),
        (Viewer("10.2.0.1"), {1}),
        (Viewer("10.1.0.1"), {1, 2}),
        (Viewer("::ffff:10.1.0.1"), {1, 2}),
        (Viewer("2001:db8::7%eth0"), {1}),
        (Viewer("not an address"), set()),
        (Viewer("10.2.0.1", "eva"), {1, 2}),
        (Viewer("", "Eva"), set()),
    ],
    ids=str,
)
def test_rules_name_viewers_by_address_and_user(viewer: Viewer, named: set[int]) -> None:
    assert ViewerClasses(RULES).named(viewer) == named
