"""Rules that others make useless, and seeds that rules forbid."""

from nwx.steering.specifications.contradictions import contradictions
from nwx.steering.specifications.specification import CrawlSpecification, LinkRule, RuleAction

BLACKLIST = LinkRule(
    RuleAction.BLACKLIST, ("/cal/",), ("org,example)/private",), ("bad.test", "x.Other.test")
)


def found(*rules: LinkRule, seeds: tuple[str, ...] = ()) -> dict[str, str]:
    given = CrawlSpecification("a", seeds=seeds, rules=rules)
    return {problem.place: problem.reason for problem in contradictions(given)}


def test_what_is_preferred_and_blacklisted_is_told() -> None:
    prefer = LinkRule(
        RuleAction.PREFER,
        ("/cal/", "/vote/"),
        ("http://(test,bad,)/a", "org,example)/private/a", "org,example)/p", "test,other"),
        ("www.bad.test", "other.test", "*.BAD.test"),
    )
    told = found(BLACKLIST, prefer)
    assert told == {
        "rules[2].expressions[1]": "'/cal/' is of no use: rules[1].expressions[1] blacklists it",
        "rules[2].surts[1]": (
            "'http://(test,bad,)/a' is of no use: rules[1].hosts[1] blacklists it"
        ),
        "rules[2].surts[2]": (
            "'org,example)/private/a' is of no use: rules[1].surts[1] blacklists it"
        ),
        "rules[2].hosts[1]": "'www.bad.test' is of no use: rules[1].hosts[1] blacklists it",
        "rules[2].hosts[3]": "'*.BAD.test' is of no use: rules[1].hosts[1] blacklists it",
    }


def test_what_is_preferred_outside_of_the_crawl_is_told() -> None:
    only = LinkRule(RuleAction.ONLY, surts=("org,example)/votes",), hosts=("in.test",))
    prefer = LinkRule(
        RuleAction.PREFER,
        surts=("org,example)/votes/a", "org,example", "net,example"),
        hosts=("a.in.test", "test", "out.test", "example.org"),
    )
    assert list(found(prefer, only)) == ["rules[1].surts[3]", "rules[1].hosts[3]"]
    with_expression = LinkRule(RuleAction.ONLY, ("vote",))
    assert found(prefer, only, with_expression) == {}


def test_seeds_that_rules_forbid_are_told() -> None:
    only = LinkRule(RuleAction.ONLY, hosts=("bad.test", "in.test"))
    seeds = ("http://in.test/", "http://www.bad.test/x", "http://out.test/")
    told = found(LinkRule(RuleAction.BLACKLIST, hosts=("www.bad.test",)), only, seeds=seeds)
    assert list(told) == ["seeds[2]", "seeds[3]"]
    assert told["seeds[2]"] == "is blacklisted: blacklist host www.bad.test"
    assert told["seeds[3]"].startswith("is outside of the crawl: ")


def test_rules_that_agree_are_in_order() -> None:
    assert found(BLACKLIST, LinkRule(RuleAction.ONLY, hosts=("example.org",))) == {}
    assert found() == {}
