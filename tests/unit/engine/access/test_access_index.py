"""Dates excluded by purging rules."""

from nwx.engine.access.access_index import purged_seen, unpurged_dates
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import AccessRule, Action, Scope
from nwx.model import Dates

SEEN = (("20100101000000", "a"), ("20120101000000", "b"))
HERE, THERE = Dates("http://a.org/ sha1:A", SEEN), Dates("http://b.org/ sha1:A", SEEN)


def rules(scope: Scope, *, purged: bool = True) -> AccessRules:
    return AccessRules([AccessRule("1", Action.EXCLUDE, scope, purged=purged)], "1")


def test_a_key_goes_with_all_its_dates() -> None:
    assert list(unpurged_dates(rules(Scope(prefix="org,a")), [HERE, THERE])) == [THERE]


def test_a_key_keeps_the_dates_of_others() -> None:
    of_a = rules(Scope(collection="a"))
    assert purged_seen(of_a, HERE) == SEEN[:1]
    assert list(unpurged_dates(of_a, [HERE])) == [Dates(HERE.key, SEEN[1:])]


def test_rules_that_only_hide_keep_nothing_out() -> None:
    hiding = rules(Scope(prefix="org,a"), purged=False)
    assert list(unpurged_dates(hiding, [HERE])) == [HERE]


def test_a_file_says_nothing_of_dates() -> None:
    assert list(unpurged_dates(rules(Scope(source_file="a.warc.gz")), [HERE])) == [HERE]


def test_a_key_that_is_no_url_is_kept() -> None:
    odd = Dates("http://[ sha1:A", SEEN)
    assert list(unpurged_dates(rules(Scope(prefix="org,a")), [odd])) == [odd]
