"""The access index: rules, the log of their changes, and states."""

from dataclasses import replace

import pytest

from nwx.engine.access.access_index import ChangeKind
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope, checked_rule
from nwx.engine.base import Engine
from nwx.errors import UsageError
from nwx.model import IndexName
from tests.conformance.engines import Opener

ABOVE_ENGINES = True

FULL = AccessRule(
    "",
    Action.LOCAL,
    Scope(
        url="http://www.example.org/ä*",
        prefix="org,example)/ä",
        digest="sha1:" + "A" * 32,
        collection="web",
        source_file="a b#c.warc.gz",
        date_from="20140101000000",
        date_to="20151231235959",
    ),
    addresses=("10.0.0.0/8", "2001:db8::/32"),
    users=("eva", "ö"),
    reason="a contract, “signed”",
    made_at="20200102030405",
    made_by="eva",
)
EMBARGO = AccessRule("", Action.EMBARGO, Scope(prefix="com,a)/", is_exact=True), years=3)
PURGED = AccessRule("", Action.EXCLUDE, Scope(), purged=True)
UNTIL = AccessRule("", Action.EMBARGO, Scope(collection="x"), until="20300101000000")


def test_rules_are_given_back_as_they_were_stored(engine: Engine) -> None:
    access = engine.access_index()
    stored = access.put([FULL, EMBARGO, PURGED, UNTIL], "otto")
    assert stored[0] == checked_rule(FULL)
    assert {(rule.made_by, bool(rule.made_at)) for rule in stored[1:]} == {("otto", True)}
    assert list(access.rules().rules) == sorted(stored, key=lambda rule: rule.id)


def test_an_archive_without_rules_shows_all(engine: Engine) -> None:
    access = engine.access_index()
    assert (access.version(), access.rules().rules, access.changes(10)) == ("", (), [])
    assert access.state("a") is None
    assert access.remove(["a"], "eva") == 0
    assert access.rules().for_viewer(EVERYBODY).hides_nothing
    assert engine.count(IndexName.ACCESS) == engine.stats()[IndexName.ACCESS].entries == 0
    assert list(engine.scan(IndexName.ACCESS)) == []


def test_the_first_rule_makes_the_archive(open_archive: Opener) -> None:
    with open_archive() as engine:
        engine.access_index().put([EMBARGO], "eva")
    with open_archive() as engine:
        assert len(engine.access_index().rules().rules) == 1


def test_rules_hold_at_once_in_other_processes(open_archive: Opener) -> None:
    with open_archive() as writer, open_archive() as reader:
        writer.create()
        seen = reader.access_index()
        before = seen.version()
        (rule,) = writer.access_index().put([EMBARGO], "eva")
        first = seen.version()
        assert seen.rules().rules == (rule,)
        assert seen.rules() is seen.rules()
        assert seen.rules().version == first
        writer.access_index().remove([rule.id], "eva")
        assert seen.rules().rules == ()
        assert len({before, first, seen.version()}) == 3


def test_what_was_found_out_by_rules_is_found_out_anew(engine: Engine) -> None:
    access = engine.access_index()
    access.renew()
    assert access.version() == ""
    access.put([EMBARGO], "eva")
    first = access.version()
    access.put([UNTIL], "eva")
    second = access.version()
    access.renew()
    marks = [version.rpartition("-")[0] for version in (first, second, access.version())]
    assert (marks[0] == marks[1]) and (marks[1] != marks[2]) and all(marks)
    assert access.rules().version == access.version()
    assert len(access.rules().rules) == len(access.changes(10)) == 2


def test_every_change_is_in_the_log_the_newest_first(engine: Engine) -> None:
    access = engine.access_index()
    (rule,) = access.put([EMBARGO], "eva")
    version = access.version()
    assert access.put([replace(EMBARGO, made_by="otto")], "otto") == (rule,)
    assert access.version() == version
    (changed,) = access.put([replace(EMBARGO, reason="new")], "otto")
    assert access.remove([rule.id, rule.id, "unknown"], "ida") == 1
    access.put([PURGED, UNTIL], "eva")
    log = access.changes(10)
    assert [(each.kind, each.by) for each in log] == [
        (ChangeKind.ADDED, "eva"),
        (ChangeKind.ADDED, "eva"),
        (ChangeKind.REMOVED, "ida"),
        (ChangeKind.CHANGED, "otto"),
        (ChangeKind.ADDED, "eva"),
    ]
    assert [each.rule for each in log[2:]] == [changed, changed, rule]
    assert all(len(each.at) == 14 for each in log)
    assert access.changes(2, 1) == log[1:3]
    assert access.changes(10, 20_000) == []


def test_rules_that_cannot_hold_are_refused_with_the_others(engine: Engine) -> None:
    access = engine.access_index()
    with pytest.raises(UsageError, match="needs its end"):
        access.put([PURGED, AccessRule("", Action.EMBARGO, Scope())], "eva")
    assert (access.rules().rules, access.version()) == ((), "")
    assert access.put([], "eva") == ()
    with pytest.raises(UsageError, match="nwx access remove"):
        engine.delete(IndexName.ACCESS, ["rule/a"])


def test_entries_are_rules_and_changes(engine: Engine) -> None:
    access = engine.access_index()
    access.put([FULL, EMBARGO], "eva")
    access.put_state("hidden", b"x")
    engine.refresh()
    entries = list(engine.scan(IndexName.ACCESS))
    assert [entry["kind"] for entry in entries] == ["change", "change", "rule", "rule"]
    ids = [entry["id"] for entry in entries]
    assert ids == sorted(set(ids))
    assert engine.count(IndexName.ACCESS) == engine.stats()[IndexName.ACCESS].entries == 4


def test_states_are_kept_by_name(engine: Engine) -> None:
    access = engine.access_index()
    states = {"a": b"", "hidden:1": bytes(range(256)) * 20_000}
    for name, state in states.items():
        access.put_state(name, b"former")
        access.put_state(name, state)
    assert {name: access.state(name) for name in states} == states
    assert access.version() == ""
