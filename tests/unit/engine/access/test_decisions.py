"""The rule that decides about a capture, by viewer and time."""

from dataclasses import dataclass
from datetime import UTC, datetime
from unittest.mock import Mock

import pytest

from nwx.engine.access.decisions import ALLOWED, SHOWS_ALL, AccessRules, ViewerClasses
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Role, Scope, Viewer, checked_rule

NOW = datetime(2026, 5, 17, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Seen:
    """The properties that rules match."""

    urlkey: str = "com,example)/a/b"
    url: str = ""
    digest: str = "sha1:" + "A" * 32
    collection: str = "web"
    source_file: str = "crawl.wacz#archive/a.warc.gz"
    timestamp: str = "20200315000000"


def rules(*made: AccessRule) -> AccessRules:
    return AccessRules(map(checked_rule, made), "1")


def rule(action: str, scope: Scope, **values: object) -> AccessRule:
    return AccessRule("", Action(action), scope, **values)  # type: ignore[arg-type]


def decided(
    made: AccessRules, seen: Seen, viewer: Viewer = EVERYBODY, now: datetime = NOW
) -> Action:
    return made.for_viewer(viewer, now).decide(seen).action


SPECIFIC_LAST = [
    rule("exclude", Scope()),
    rule("allow", Scope(date_from="2020", date_to="2021")),
    rule("exclude", Scope(collection="web")),
    rule("allow", Scope(source_file="crawl.wacz")),
    rule("exclude", Scope(source_file="crawl.wacz#archive/a.warc.gz", collection="web")),
    rule("allow", Scope(prefix="com,")),
    rule("exclude", Scope(prefix="com,example")),
    rule("allow", Scope(prefix="com,example)/")),
    rule("exclude", Scope(prefix="com,example)/a/")),
    rule("allow", Scope(prefix="com,example)/a/", collection="web")),
    rule("exclude", Scope(prefix="com,example)/a/b")),
    rule("allow", Scope(prefix="com,example)/a/b", is_exact=True)),
    rule("exclude", Scope(prefix="com,example)/a/b", is_exact=True, date_to="20200315000000")),
    rule("allow", Scope(digest="sha1:" + "A" * 32)),
    rule("exclude", Scope(digest="sha1:" + "A" * 32, prefix="com,example")),
]


@pytest.mark.parametrize("number", range(1, len(SPECIFIC_LAST) + 1))
def test_the_most_specific_rule_decides(number: int) -> None:
    made = rules(*reversed(SPECIFIC_LAST[:number]))
    found = made.for_viewer(EVERYBODY, NOW).decide(Seen())
    assert found.rule == checked_rule(SPECIFIC_LAST[number - 1])
    assert found.is_hidden == (found.action is Action.EXCLUDE)


def test_of_rules_alike_the_stricter_decides() -> None:
    actions = {
        "allow": {},
        "local": {"users": ("eva",)},
        "embargo": {"years": 10},
        "block": {"users": ("eva",)},
        "exclude": {"users": ("eva",)},
    }
    made = [rule(name, Scope(prefix="com,"), **more) for name, more in actions.items()]
    assert decided(rules(*made), Seen()) is Action.EMBARGO
    assert decided(rules(*made), Seen(), Viewer(user="eva")) is Action.EXCLUDE


def test_a_local_rule_does_not_precede_an_exclusion_for_viewers_it_does_not_name() -> None:
    made = rules(rule("exclude", Scope()), rule("local", Scope(), users=("eva",)))
    assert decided(made, Seen()) is Action.EXCLUDE
    assert decided(made, Seen(), Viewer(user="eva")) is Action.ALLOW


def test_a_rule_that_names_the_viewer_comes_before_one_that_does_not() -> None:
    staff = rule("allow", Scope(prefix="com,"), users=("staff",))
    made = rules(staff, rule("exclude", Scope(prefix="com,")))
    assert decided(made, Seen()) is Action.EXCLUDE
    assert decided(made, Seen(), Viewer(user="staff")) is Action.ALLOW


@pytest.mark.parametrize(
    ("prefix", "held", "not_held"),
    [
        ("com,example)/", ["com,example)/", "com,example)/a", "com,example:8080)/a"],
         ["com,examples)/", "com,example,www)/"]),
        ("com,example", ["com,example)/", "com,example,a)/b", "com,example:80)/"],
         ["com,examples)/", "com,exampl)/"]),
        ("com,", ["com,a)/"], ["org,a)/"]),
        ("com,example:8080)/", ["com,example:8080)/a"], ["com,example)/a"]),
        ("com,example)/a/", ["com,example)/a", "com,example)/a/b", "com,example)/a?c=d"],
         ["com,example)/ab"]),
        ("com,example)/a", ["com,example)/a", "com,example)/ab"], ["com,example)/b"]),
        ("dns:", ["dns:example.com"], ["com,dns)/"]),
    ],
)  # fmt: skip
def test_what_a_prefix_stands_for(prefix: str, held: list[str], not_held: list[str]) -> None:
    decisions = rules(rule("block", Scope(prefix=prefix))).for_viewer(EVERYBODY)
    assert [key for key in held + not_held if decisions.hides(Seen(key))] == held
    assert [key for key in held + not_held if decisions.touches(key)] == held


def test_an_exact_url_is_that_of_its_requests_with_a_body_and_of_its_renders() -> None:
    decisions = rules(rule("block", Scope(prefix="com,example)/a?b=1", is_exact=True))).for_viewer(
        EVERYBODY
    )
    keys = [
        "com,example)/a?b=1",
        "com,example)/a?b=12",
        "urn:view:http://example.com/a?b=1",
        "urn:view:http://example.com/a?b=12",
    ]
    assert [decisions.hides(Seen(key, key)) for key in keys] == [1, 0, 1, 0]
    assert [decisions.touches(key) for key in keys] == [1, 0, 1, 0]
    sent = "com,example)/a?__wb_method=post&b=1"
    urls = ["http://example.com/a?b=1", "http://example.com/a"]
    assert [decisions.hides(Seen(sent, url)) for url in urls] == [1, 0]
    assert decisions.touches(sent)
    assert decisions.touches("com,example)/a?_", "com,example)/a?a")


def test_an_embargo_ends_at_its_date() -> None:
    made = rules(rule("embargo", Scope(), until="2026-06-01"))
    assert (
        decided(made, Seen(), now=datetime(2026, 5, 31, 23, 59, 59, tzinfo=UTC)).value == "embargo"
    )
    assert decided(made, Seen(), now=datetime(2026, 6, 1, tzinfo=UTC)) is Action.ALLOW


def test_an_embargo_that_had_ended_holds_again_once_the_clock_is_right(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = rules(rule("embargo", Scope(), until="2026-06-01"))
    clock = Mock(wraps=datetime)
    monkeypatch.setattr("nwx.engine.access.decisions.datetime", clock)
    for year, hidden in ((2099, False), (2026, True), (2099, False), (1970, True)):
        clock.now.return_value = datetime(year, 1, 1, tzinfo=UTC)
        assert made.for_viewer(EVERYBODY).hides(Seen()) is hidden
    clock.now.return_value = datetime(1969, 1, 1, tzinfo=UTC)
    assert made.for_viewer(EVERYBODY).hides(Seen()) is True


def test_an_embargo_ends_some_years_after_each_capture() -> None:
    made = rules(rule("embargo", Scope(), years=6))
    for timestamp, now, hidden in [
        ("20200517235959", datetime(2026, 5, 17), False),
        ("20200518000000", datetime(2026, 5, 17), True),
        ("20200229120000", datetime(2026, 2, 28), True),
        ("20200229120000", datetime(2026, 3, 1), False),
        ("20300101000000", datetime(5, 3, 1), True),
    ]:
        assert made.for_viewer(EVERYBODY, now).hides(Seen(timestamp=timestamp)) is hidden


def test_what_is_hidden_after_an_embargo_is_told_by_the_other_rules() -> None:
    made = rules(
        rule("embargo", Scope(prefix="com,example)/a/b"), until="2020"),
        rule("block", Scope(prefix="com,")),
    )
    assert decided(made, Seen()) is Action.BLOCK


def test_local_captures_are_shown_to_those_named() -> None:
    made = rules(rule("local", Scope(), addresses=("10.0.0.0/8",), users=("eva",)))
    shown = [
        decided(made, Seen(), viewer)
        for viewer in (EVERYBODY, Viewer("10.1.2.3"), Viewer("11.1.2.3", "eva"), Viewer("x", "x"))
    ]
    assert shown == [Action.LOCAL, Action.ALLOW, Action.ALLOW, Action.LOCAL]


def test_curators_see_what_is_hidden() -> None:
    made = rules(rule("exclude", Scope()))
    assert made.for_viewer(Viewer(role=Role.CURATOR)) is SHOWS_ALL
    assert SHOWS_ALL.decide(Seen()) == ALLOWED


def test_the_key_is_that_of_what_holds() -> None:
    made = rules(
        rule("local", Scope(), users=("eva",)),
        rule("local", Scope(collection="web"), addresses=("10.0.0.0/8",)),
        rule("embargo", Scope(collection="other"), until="20260601"),
        rule("embargo", Scope(collection="third"), years=3),
    )
    keys = {
        made.for_viewer(viewer, now).key
        for viewer in (EVERYBODY, Viewer(user="eva"), Viewer("10.0.0.1"), Viewer("10.0.0.2"))
        for now in (NOW, NOW.replace(hour=13), NOW.replace(day=18), NOW.replace(month=7))
    }
    assert len(keys) == 3 * 3
    other = AccessRules(made.rules, "2").for_viewer(EVERYBODY, NOW).key
    assert other not in keys
    assert rules(rule("allow", Scope())).for_viewer(EVERYBODY).key == "" == SHOWS_ALL.key


def test_decisions_are_kept_for_a_class_of_viewers() -> None:
    made = rules(rule("local", Scope(), addresses=("10.0.0.0/8",)))
    assert made.for_viewer(Viewer("10.0.0.1")) is made.for_viewer(Viewer("10.0.0.2"))
    assert made.for_viewer(Viewer("10.0.0.1")) is not made.for_viewer(EVERYBODY)


def test_rules_that_restrict_a_viewer_are_told() -> None:
    made = rules(
        rule("allow", Scope(prefix="com,a")),
        rule("block", Scope(prefix="com,b"), users=("eva",)),
        rule("local", Scope(prefix="com,c"), users=("eva",)),
    )
    told = [
        [each.scope.prefix for each in made.for_viewer(viewer).restricting]
        for viewer in (EVERYBODY, Viewer(user="eva"))
    ]
    assert told == [["com,c"], ["com,b"]]


def test_a_span_is_touched_where_a_rule_may_hide_some_of_it() -> None:
    decisions = rules(
        rule("block", Scope(prefix="com,example)/a/")),
        rule("block", Scope(prefix="com,example)/c", is_exact=True)),
        rule("allow", Scope(prefix="com,other)/")),
    ).for_viewer(EVERYBODY)
    spans = [
        ("com,example)/", "com,example)/a"),
        ("com,example)/", "com,example)/a!"),
        ("com,example)/a/x", "com,example)/a/y"),
        ("com,example)/b", "com,example)/c"),
        ("com,example)/b", "com,example)/c!"),
        ("com,other)/", "com,other*"),
        ("urn:view:http://x", "urn:view:http://y"),
    ]
    assert [decisions.touches(*span) for span in spans] == [0, 1, 1, 0, 1, 0, 1]
    assert rules(rule("block", Scope(collection="a"))).for_viewer(EVERYBODY).touches("com,x)/")
    assert not SHOWS_ALL.touches("com,a)/", "com,z)/")


def test_purged_captures_are_told_whatever_hides_them() -> None:
    made = rules(
        rule("exclude", Scope(prefix="com,example)/a/"), purged=True),
        rule("allow", Scope(prefix="com,example)/a/b", is_exact=True)),
        rule("exclude", Scope(prefix="com,example)/c")),
    )
    assert [made.purges(Seen(key)) for key in ("com,example)/a/b", "com,example)/c")] == [1, 0]
    assert not rules().purges(Seen())


@pytest.mark.parametrize("number", range(len(SPECIFIC_LAST) + 1))
def test_what_a_rule_about_its_url_excludes_is_excluded_whatever_else_it_has(number: int) -> None:
    found = rules(*SPECIFIC_LAST[:number]).for_viewer(EVERYBODY, NOW)
    captures = [
        Seen(key, digest=digest, collection=collection, timestamp=f"{year}0315000000")
        for key in ("com,example)/a/b", "com,example)/a/c", "com,example)/", "com,other)/")
        for digest in ("", "sha1:" + "A" * 32)
        for collection in ("web", "other")
        for year in (2010, 2020, 2030)
    ]
    for key in {one.urlkey for one in captures}:
        actions = {found.decide(one).action for one in captures if one.urlkey == key}
        assert not found.excludes(key) or actions == {Action.EXCLUDE}


def test_urls_are_excluded_by_rules_about_them_alone() -> None:
    def excludes(*made: AccessRule) -> bool:
        return rules(*made).for_viewer(EVERYBODY, NOW).excludes("com,example)/a/b")

    domain = Scope(prefix="com,example")
    assert excludes(rule("exclude", domain))
    assert excludes(rule("exclude", domain), rule("allow", Scope(collection="web")))
    assert not excludes(rule("block", domain))
    assert not excludes(rule("exclude", Scope(prefix="com,example", date_to="2020")))
    assert not excludes(rule("exclude", domain), rule("allow", Scope(digest="sha1:" + "A" * 32)))
    assert not excludes(rule("exclude", Scope(collection="web")))


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
        (Viewer("", "Eva"), {2}),
        (Viewer("", "Eve"), set()),
    ],
    ids=str,
)
def test_rules_name_viewers_by_address_and_user(viewer: Viewer, named: set[int]) -> None:
    assert ViewerClasses(RULES).named(viewer) == named
