"""Traps for crawlers."""

from pathlib import Path

import pytest

from nwx.steering.analysis.link_classifier import (
    LinkClassifier,
    LinkVerdict,
    read_spam_hosts,
    trap_of,
    without_session,
)
from nwx.steering.analysis.link_roles import LinkRole, link_address
from nwx.steering.specifications.specification import CrawlSpecification, LinkRule, RuleAction


def trap(path: str, role: LinkRole = LinkRole.CONTENT) -> str:
    url = f"http://site.example{path}"
    return trap_of(url, link_address(url), role, "20200101000000")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/catalogue/catalogue/catalogue/offers", "repeated path segment catalogue"),
        ("/a/b/a/b/a/b", "repeated path segment"),
        ("/a/b/c/a", ""),
        ("/2024/05/05/x", ""),
        (f"/{'x/' * 30}", "more than 25 path segments"),
        (f"/{'x' * 3_000}", "more than 2000 characters"),
        ("/?" + "&".join(f"p{n}=1" for n in range(30)), "more than 20 parameters"),
    ],
)
def test_paths_that_go_on_are_traps(path: str, words: str) -> None:
    assert trap(path).startswith(words)
    assert bool(trap(path)) == bool(words)


def test_calendars_lead_to_years_near_their_page() -> None:
    assert trap("/calendar/2021/05", LinkRole.CALENDAR) == ""
    assert trap("/calendar/2031/05", LinkRole.CALENDAR) == "calendar, 11 years from its page"
    assert trap("/calendar?d=19990501", LinkRole.CALENDAR) == "calendar, 21 years from its page"
    assert trap("/history/1999", LinkRole.CONTENT) == ""


@pytest.mark.parametrize(
    ("url", "without"),
    [
        ("http://a.example/x;jsessionid=1A2B3C4D?y=1", "http://a.example/x?y=1"),
        ("http://a.example/t.php?t=1&sid=0123456789abcdef", "http://a.example/t.php?t=1"),
        ("http://a.example/t.php?sid=0123456789abcdef&t=1", "http://a.example/t.php?t=1"),
        ("http://a.example/?PHPSESSID=a1b2c3d4e5", "http://a.example/"),
        ("http://a.example/(S(abcdefghij0123456789abcd))/x", "http://a.example/x"),
        ("http://a.example/?s=hochwasser", ""),
        ("http://a.example/?s=flood2002", ""),
        ("http://a.example/?sid=5", ""),
        ("http://a.example/x", ""),
    ],
)
def test_session_ids_are_taken_off(url: str, without: str) -> None:
    assert without_session(url) == without


def verdict(url: str, *rules: LinkRule, spam: frozenset[str] = frozenset()) -> LinkVerdict:
    classifier = LinkClassifier(CrawlSpecification("c", rules=rules), spam)
    return classifier.verdict(url, link_address(url), LinkRole.CONTENT, "20200101000000")


def test_a_link_of_no_rule_is_left_as_it_is() -> None:
    assert verdict("http://a.example/x") == LinkVerdict()


def test_rules_decide_first() -> None:
    rules = (
        LinkRule(RuleAction.BLACKLIST, hosts=("bad.example",)),
        LinkRule(RuleAction.PREFER, expressions=("/news/",)),
        LinkRule(RuleAction.ONLY, hosts=("example",)),
    )
    assert verdict("http://bad.example/news/", *rules).blacklisted
    assert verdict("http://a.example/news/", *rules).preferred
    assert verdict("http://a.test/news/", *rules).outside


def test_spam_hosts_cover_their_subdomains(tmp_path: Path) -> None:
    path = tmp_path / "hosts.txt"
    path.write_text("# spam\n0.0.0.0 casino.example\n*.Win.example\nlocalhost\n\n")
    spam = read_spam_hosts(path)
    assert spam == {"casino.example", "win.example"}
    found = verdict("http://www.casino.example:8080/x", spam=spam)
    assert found == LinkVerdict(blacklisted=True, reason="spam host casino.example")
    assert verdict("http://mycasino.example/", spam=spam) == LinkVerdict()


def test_traps_are_blacklisted_and_session_ids_taken_off() -> None:
    assert verdict("http://a.example/x/x/x/").reason == "trap: repeated path segment x"
    found = verdict("http://a.example/x?sid=0123456789abcdef")
    assert (found.blacklisted, found.address) == (True, "http://a.example/x")
