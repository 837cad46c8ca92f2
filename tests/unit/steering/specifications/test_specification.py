"""Versions of specifications: which changes affect them, and which do not."""

import random
from dataclasses import replace

import pytest

from nwx.steering.specifications.specification import (
    CrawlSpecification,
    DueInterval,
    Entity,
    EntityKind,
    ExpressionSet,
    Keyword,
    Limits,
    LinkRule,
    LinkRules,
    RuleAction,
    RuleError,
    RuleVerdict,
    ScoreWeights,
    SurtPrefixes,
    Thresholds,
    compile_expression,
    covering_hosts,
    normal_surt,
)

BASE = CrawlSpecification(
    "votes",
    keywords=(Keyword("election"), Keyword("Wahl", 2.0, "de")),
    entities=(Entity("Bern", ("Berne",), EntityKind.PLACE), Entity("Ada Lovelace")),
)


def test_a_version_is_the_same_in_every_process() -> None:
    assert CrawlSpecification("votes").version() == CrawlSpecification("floods").version()
    assert len(BASE.version()) == 16
    assert int(BASE.version(), 16)


@pytest.mark.parametrize(
    "changed",
    [
        replace(BASE, keywords=BASE.keywords[:1]),
        replace(BASE, keywords=(Keyword("election", 2.0), BASE.keywords[1])),
        replace(BASE, entities=(BASE.entities[0], Entity("Ada Lovelace", ("Ada King",)))),
        replace(BASE, rules=(LinkRule(RuleAction.PREFER, hosts=("example.org",)),)),
        replace(BASE, weights=ScoreWeights(document=0.5)),
        replace(BASE, thresholds=Thresholds(follow=0.9)),
    ],
)
def test_what_analysis_depends_on_changes_the_version(changed: CrawlSpecification) -> None:
    assert changed.version() != BASE.version()


@pytest.mark.parametrize(
    "changed",
    [
        replace(BASE, keywords=BASE.keywords[::-1], entities=BASE.entities[::-1]),
        replace(BASE, seeds=("http://example.org/",), limits=Limits(pages=5)),
        replace(BASE, intervals=(DueInterval(7),), queue="http://localhost:1/", collection="a"),
    ],
)
def test_what_analysis_does_not_depend_on_keeps_the_version(changed: CrawlSpecification) -> None:
    assert changed.version() == BASE.version()


def test_the_first_expression_that_is_found_is_told() -> None:
    known = ExpressionSet(["calendar", "(?i)SPAM$", "a|b"])
    assert known.first("http://x/calendar") == "calendar"
    assert known.first("http://x/spam") == "(?i)SPAM$"
    assert known.first("http://x/") == ""
    assert not ExpressionSet([])


def test_hundreds_are_searched_for() -> None:
    known = ExpressionSet([f"/page{n}/" for n in range(300)])
    assert known.first("http://x/page299/") == "/page299/"
    assert known.first("http://x/page300/") == ""


def test_a_quotation_that_is_not_closed_ends_with_its_expression() -> None:
    known = ExpressionSet([r"\Qa.b", "c", r"\Qd\E"])
    assert known.first("http://x/a.b") == r"\Qa.b"
    assert known.first("http://x/c") == "c"
    assert known.first("http://x/axb") == ""


@pytest.mark.parametrize("wrong", ["(", "a{1001}", "((a{100}){100}){100}", "(?=x)", r"(a)\1"])
def test_what_re2_does_not_take_is_an_error(wrong: str) -> None:
    with pytest.raises(RuleError):
        compile_expression(wrong)


def test_a_catastrophic_expression_takes_no_time() -> None:
    known = ExpressionSet([r"(x+x+)+y", r"(a|a)*b$"])
    assert known.first(f"http://h/{'x' * 16_000}{'a' * 300}") == ""


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("org,example)/a", "org,example)/a"),
        ("http://(org,example,)/A", "org,example)/a"),
        ("http://(org,example,", "org,example"),
        ("https://(org,example,www,)/", "org,example)/"),
        ("org,example,", "org,example"),
        ("org,example,www", "org,example"),
        ("com,www", "com,www"),
        ("com,www,shop)/a", "com,www,shop)/a"),
        ("org,example)", "org,example)/"),
        ("(org,example,:8080)/x", "org,example:8080)/x"),
    ],
)
def test_prefixes_of_heritrix_and_of_urlkeys_are_the_same(written: str, normal: str) -> None:
    assert normal_surt(written) == normal


def test_a_prefix_without_path_covers_subdomains_at_whole_labels() -> None:
    known = SurtPrefixes(["org,example"])
    assert known.covering("org,example)/") == "org,example"
    assert known.covering("org,example,a)/b") == "org,example"
    assert known.covering("org,example:8080)/") == "org,example"
    assert known.covering("org,examples)/") == ""
    assert known.covering("") == ""


def test_a_prefix_with_path_covers_one_host() -> None:
    known = SurtPrefixes(["org,example)/a", "org,example)/a/b", "org,example)/c"])
    assert known.covering("org,example)/a/b/c") == "org,example)/a"
    assert known.covering("org,example)/c") == "org,example)/c"
    assert known.covering("org,example)/b") == ""
    assert known.covering("org,example,a)/a") == ""


def test_the_search_finds_what_looking_at_each_prefix_finds() -> None:
    chance = random.Random(7)
    paths = ["".join(chance.choices("ab/", k=chance.randint(0, 5))) for _ in range(200)]
    known = SurtPrefixes(f"org,example)/{path}" for path in paths[:40])
    for path in paths:
        covered = any(path.startswith(prefix) for prefix in paths[:40])
        assert bool(known.covering(f"org,example)/{path}")) is covered


def test_none_is_false() -> None:
    assert not SurtPrefixes([])
    assert list(covering_hosts("a.example.org")) == ["a.example.org", "example.org", "org"]


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
