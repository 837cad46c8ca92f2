"""Links that are never followed, or preferred."""

from nwx.steering.analysis.links.link_address import link_address
from nwx.steering.analysis.links.link_classifier import (
    LinkClassifier,
    LinkVerdict,
    read_spam_hosts,
)
from nwx.steering.analysis.links.link_roles import LinkRole
from nwx.steering.specifications.specification import CrawlSpecification, LinkRule, RuleAction


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


def test_spam_hosts_cover_their_subdomains() -> None:
    spam = read_spam_hosts(["# spam", "0.0.0.0 casino.example", "*.Win.example", "localhost", ""])
    assert spam == {"casino.example", "win.example"}
    found = verdict("http://www.casino.example:8080/x", spam=spam)
    assert found == LinkVerdict(blacklisted=True, reason="spam host casino.example")
    assert verdict("http://mycasino.example/", spam=spam) == LinkVerdict()


def test_traps_are_blacklisted_and_session_ids_taken_off() -> None:
    assert verdict("http://a.example/x/x/x/").reason == "trap: repeated path segment x"
    found = verdict("http://a.example/x?sid=0123456789abcdef")
    assert (found.blacklisted, found.address) == (True, "http://a.example/x")
