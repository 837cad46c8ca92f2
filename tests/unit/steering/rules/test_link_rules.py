"""What link rules say of URLs."""

import pytest

from nwx.steering.rules.link_rules import LinkRules, RuleVerdict
from nwx.steering.specifications.specification import LinkRule, RuleAction

RULES = LinkRules(
    [
        LinkRule(RuleAction.PREFER, surts=("org,example)/b",), hosts=("news.example.org",)),
        LinkRule(
            RuleAction.BLACKLIST,
            expressions=("calendar",),
            surts=("http://(org,example,)/a",),
            hosts=("*.Bad.example.org", "bücher.example.org"),
        ),
        LinkRule(RuleAction.ONLY, hosts=("example.org",)),
        LinkRule(RuleAction.ONLY, expressions=(r"^https?://[^/]*\.test/",)),
    ]
)


@pytest.mark.parametrize(
    ("url", "rule"),
    [
        ("http://example.org/a/b", "blacklist SURT prefix org,example)/a"),
        ("http://www.example.org/A", "blacklist SURT prefix org,example)/a"),
        ("http://x.bad.example.org/", "blacklist host bad.example.org"),
        ("http://xn--bcher-kva.example.org/", "blacklist host xn--bcher-kva.example.org"),
        ("http://elsewhere.net/calendar?m=1", "blacklist expression calendar"),
    ],
)
def test_blacklisted_urls(url: str, rule: str) -> None:
    assert RULES.verdict(url) == RuleVerdict(blacklisted=True, rule=rule)


@pytest.mark.parametrize("url", ["http://elsewhere.net/", "mailto:a@example.org", "", "http://[x"])
def test_urls_outside(url: str) -> None:
    verdict = RULES.verdict(url)
    assert verdict.outside
    assert "only" in verdict.rule
    assert not verdict.blacklisted


@pytest.mark.parametrize("url", ["http://example.org/b/c", "https://a.news.example.org/x"])
def test_preferred_urls(url: str) -> None:
    verdict = RULES.verdict(url)
    assert verdict.preferred
    assert verdict.rule.startswith("prefer ")


@pytest.mark.parametrize(
    "url", ["http://example.org/c", "http://badexample.example.org/", "http://x.test/"]
)
def test_other_urls(url: str) -> None:
    assert RULES.verdict(url) == RuleVerdict()


def test_without_rules_nothing_is_said() -> None:
    assert LinkRules([]).verdict("http://example.org/") == RuleVerdict()


def test_many_hosts_and_prefixes_cost_nothing_more() -> None:
    hosts = tuple(f"h{n}.example.org" for n in range(20_000))
    surts = tuple(f"org,example)/{n}/" for n in range(20_000))
    rules = LinkRules([LinkRule(RuleAction.BLACKLIST, hosts=hosts, surts=surts)])
    found = [rules.verdict(f"http://h{n}.example.org/").blacklisted for n in range(10_000)]
    assert all(found)
    assert rules.verdict("http://example.org/19999/x").blacklisted
    assert not rules.verdict("http://example.org/20000/x").blacklisted
