"""Redundant rules, and seeds forbidden by rules."""

import json
from typing import Literal

import pytest

from nwx.errors import SpecificationError
from nwx.steering.specifications.file_values import MOST_PROBLEMS
from nwx.steering.specifications.parts import MOST_ENTRIES
from nwx.steering.specifications.specification import (
    CrawlSpecification,
    DueInterval,
    Entity,
    EntityKind,
    Keyword,
    Limits,
    LinkRule,
    RuleAction,
    ScoreWeights,
    Thresholds,
)
from nwx.steering.specifications.specification_files import (
    contradictions,
    read_specification,
    write_specification,
)

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
        "rules[2].expressions[1]": "'/cal/' has no effect: rules[1].expressions[1] blacklists it",
        "rules[2].surts[1]": (
            "'http://(test,bad,)/a' has no effect: rules[1].hosts[1] blacklists it"
        ),
        "rules[2].surts[2]": (
            "'org,example)/private/a' has no effect: rules[1].surts[1] blacklists it"
        ),
        "rules[2].hosts[1]": "'www.bad.test' has no effect: rules[1].hosts[1] blacklists it",
        "rules[2].hosts[3]": "'*.BAD.test' has no effect: rules[1].hosts[1] blacklists it",
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


FULL = CrawlSpecification(
    name="votes-2026",
    seeds=("https://www.example.org/votes/", "http://news.example.net/?a=b"),
    keywords=(Keyword("referendum"), Keyword("Volksabstimmung", 2.5, "de")),
    entities=(
        Entity("Bern", ("Berne", "Berna"), EntityKind.PLACE, "https://example.org/Q70", 2.0),
        Entity("Federal Chancellery"),
    ),
    rules=(
        LinkRule(RuleAction.BLACKLIST, (r"/cal/\d{4}/", "[?&]sid="), hosts=("ads.example.com",)),
        LinkRule(RuleAction.PREFER, surts=("org,example)/votes/",)),
        LinkRule(RuleAction.ONLY, surts=("org,example", "http://(net,example,")),
    ),
    limits=Limits(depth=0, pages=100_000),
    weights=ScoreWeights(document=0.5, role=0.0),
    thresholds=Thresholds(follow=0.25),
    intervals=(DueInterval(30.0), DueInterval(0.5, hosts=("news.example.net",))),
    collection="votes",
    queue="http://127.0.0.1:8090/",
)


def problems(text: str) -> dict[str, str]:
    with pytest.raises(SpecificationError) as raised:
        read_specification(text, "votes.toml")
    found = raised.value.problems
    assert str(raised.value) == "\n".join(f"votes.toml: {one}" for one in found)
    return {one.place: one.reason for one in found}


@pytest.mark.parametrize("form", ["toml", "json"])
@pytest.mark.parametrize("given", [FULL, CrawlSpecification("a")], ids=["full", "least"])
def test_what_is_written_is_read(given: CrawlSpecification, form: Literal["toml", "json"]) -> None:
    text = write_specification(given, form)
    assert read_specification(text, "x") == given
    assert read_specification(f"\ufeff\n{text}", "x") == given


def test_usual_values_are_not_written() -> None:
    assert write_specification(CrawlSpecification("a"), "toml") == 'name = "a"\n'
    found = json.loads(write_specification(FULL, "json"))
    assert found["keywords"][0] == "referendum"
    assert found["limits"] == {"depth": 0, "pages": 100_000}
    assert found["entities"][1] == {"name": "Federal Chancellery"}


def test_texts_stand_for_keywords_and_entities() -> None:
    text = "name = 'a'\nkeywords = [' vote ', {text = 'poll'}]\nentities = ['Bern']"
    found = read_specification(text, "x")
    assert found.keywords == (Keyword("vote"), Keyword("poll"))
    assert found.entities == (Entity("Bern"),)


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("name = 'a'\nseeds = [", "end of document", "cannot be read: "),
        ("name = 'a'\nb c", "column 3", "cannot be read: "),
        ('{"name": "a",\n "b" 1}', "column 6", "is not JSON: "),
        ('{"name": "a", "name": "b"}', "", "'name' occurs twice"),
        (" \n", "", "is empty"),
        ("x = " + "[" * 100_000, "", "nested too deeply"),
        ('{"x":' * 100_000, "", "nested too deeply"),
        ("a = 1\n" + "a.b." * 20_000 + "c = 1", "column 1", "too many parts"),
        ("a = 1\n" + '"a" . ' * 100_000 + "c = 1", "column 1", "too many parts"),
        ("a = 1\nx = {" + "a.'b'." * 50_000 + "c = 1}", "column 1", "too many parts"),
        (
            "{" + "".join(f'"k{n}": 1, ' for n in range(100_000)) + '"z": 1, "z": 2}',
            "",
            "'z' occurs",
        ),
        ('{"' + "z" * 9_999 + '": 1, "' + "z" * 9_999 + '": 2}', "", "zzz… occurs twice"),
        ("x = " + "1" * 10_000, "", "cannot be read: "),
        ("# " + "x" * (33 << 20), "", "at most 33,554,432 are allowed"),
        ("seeds = []", "", "has no 'name'"),
    ],
)
def test_what_cannot_be_parsed(text: str, place: str, reason: str) -> None:
    ((found, why),) = problems(text).items()
    if found.startswith("column"):
        with pytest.raises(SpecificationError, match=r"x: line [12], column"):
            read_specification(text, "x")
    assert found == place
    assert reason in why


WRONG = """
name = "votes 2026"
seeds = ["example.org", "http://a.test/", "http://a.test/", 5, "http://[x", "ftp://a.test/"]
keyword = ["x"]
keywords = ["", "vote", {txt = "b"}, {text = "c", weight = -1}, {text = "d", weight = "2"},
  {text = "e", language = "english"}, "VOTE", 7, {text = "!!"}, {text = "ok", weight = inf}]
collection = "a/b"
queue = "ftp://x"
[[entities]]
name = "Bern"
kind = "plase"
aliases = ["", 3]
[[entities]]
kind = "robot"
[[rules]]
action = "blacklst"
expressions = ["(", "", "(?=x)", 4]
surts = ["https://example.org/dir/", "org.example", "a b", ""]
hosts = ["exa mple", "http://x.org/", "", "*.ok.org", "ok.org/x", "[::1]", "ok.org:8080"]
[[rules]]
[limits]
depth = -1
pages = 1.5
page = 7
[weights]
document = 0
near = 0
role = 0
preferred = 0
novelty = 0
[thresholds]
relevant = 1.5
follow = true
[[intervals]]
[[intervals]]
days = 0
"""


def test_all_errors_are_told_at_once() -> None:
    found = problems(WRONG)
    for place, reason in {
        "keyword": "is not known here; did you mean 'keywords'?",
        "name": "'votes 2026' is not a valid crawl name",
        "seeds[1]": "write http://HOST/PATH",
        "seeds[3]": "is the same as seeds[2]",
        "seeds[4]": "is a whole number (5); it must be text",
        "seeds[5]": "is not a URL",
        "seeds[6]": "is not a URL",
        "keywords[1].text": "is empty",
        "keywords[3]": "has no 'text'",
        "keywords[3].txt": "did you mean 'text'?",
        "keywords[4].weight": "is -1; it must be from 0.001 to 1000",
        "keywords[5].weight": "is text ('2'); it must be a number",
        "keywords[6].language": "two lower-case letters",
        "keywords[7]": "is the same as keywords[2]",
        "keywords[8]": "a text or a table",
        "keywords[9].text": "neither letters nor digits",
        "keywords[10].weight": "is inf",
        "collection": "not a valid collection name",
        "queue": "is not a URL",
        "entities[1].kind": "did you mean 'place'?",
        "entities[1].aliases[1]": "is empty",
        "entities[1].aliases[2]": "it must be text",
        "entities[2]": "has no 'name'",
        "entities[2].kind": "choose one of person, ",
        "rules[1].action": "did you mean 'blacklist'?",
        "rules[1].expressions[1]": "RE2 does not accept '(': missing )",
        "rules[1].expressions[2]": "would cover everything",
        "rules[1].expressions[3]": "RE2 does not accept",
        "rules[1].expressions[4]": "it must be text",
        "rules[1].surts[1]": "write its SURT prefix 'org,example)/dir/'",
        "rules[1].surts[2]": "is not a SURT prefix",
        "rules[1].surts[3]": "is not a SURT prefix",
        "rules[1].surts[4]": "is not a SURT prefix",
        "rules[1].hosts[1]": "is not a host",
        "rules[1].hosts[2]": "is not a host",
        "rules[1].hosts[3]": "is not a host",
        "rules[1].hosts[5]": "is not a host",
        "rules[1].hosts[7]": "has a port, which rules ignore; write 'ok.org'",
        "rules[2]": "covers nothing",
        "limits.depth": "is -1; it must be from 0",
        "limits.pages": "is a number (1.5); it must be a whole number",
        "limits.page": "did you mean 'pages'?",
        "weights": "are all 0",
        "thresholds.relevant": "is 1.5; it must be from 0 to 1",
        "thresholds.follow": "is true or false (True); it must be a number",
        "intervals[1]": "has no 'days'",
        "intervals[2]": "applies to all pages, as intervals[1] does",
        "intervals[2].days": "is 0",
    }.items():
        assert reason in found.pop(place), place
    assert found == {}


def test_problems_come_with_their_lines() -> None:
    with pytest.raises(SpecificationError) as raised:
        read_specification(WRONG, "x")
    lines = {one.place: one.line for one in raised.value.problems}
    text = WRONG.split("\n")
    for place, beginning in {
        "name": "name = ",
        "keyword": "keyword = ",
        "keywords[4].weight": "keywords = ",
        "keywords[6].language": "  {text = ",
        "entities[1].kind": 'kind = "plase',
        "entities[2]": "[[entities]]",
        "rules[1].surts[2]": "surts = ",
        "rules[2]": "[[rules]]",
        "limits.page": "page = 7",
        "intervals[2].days": "days = 0",
    }.items():
        assert text[lines[place] - 1].startswith(beginning), place
    assert 0 not in lines.values()


@pytest.mark.parametrize("name", ["", "new", "Compare", ".a", "a/b", "a" * 101, "é", "a\n"])
def test_names_that_a_crawl_cannot_have(name: str) -> None:
    assert list(problems(json.dumps({"name": f"{name}" if name != "a\n" else "a\tb"}))) == ["name"]


@pytest.mark.parametrize(
    ("key", "value"),
    [(key, 7) for key in ("seeds", "keywords", "entities", "rules", "limits", "weights", "queue")]
    + [("thresholds", [1]), ("intervals", {"days": 1}), ("collection", None), ("name", True)],
)
def test_values_of_another_kind(key: str, value: object) -> None:
    assert "it must be" in problems(json.dumps({"name": "a"} | {key: value}))[key]


def test_hundred_thousand_keywords_are_read_and_no_more() -> None:
    words = [f"word{n}" for n in range(MOST_ENTRIES + 1)]
    text = json.dumps({"name": "a", "keywords": words[:-1]})
    assert len(read_specification(text, "x").keywords) == MOST_ENTRIES
    assert problems(json.dumps({"name": "a", "keywords": words})) == {
        "keywords": "has 100,001 entries; at most 100,000 are allowed"
    }


def test_very_many_problems_are_counted() -> None:
    text = json.dumps({"name": "a", "keywords": [{"wieght": 2}] * 50_000})
    with pytest.raises(SpecificationError) as raised:
        read_specification(text, "x")
    assert len(raised.value.problems) == MOST_PROBLEMS + 1
    assert "more problems" in raised.value.problems[-1].reason


def test_conditions_of_all_rules_are_bounded() -> None:
    hosts = [f"h{n}.test" for n in range(80_000)]
    rules = [{"action": "only", "hosts": hosts}] * 3
    assert "200,000 conditions" in problems(json.dumps({"name": "a", "rules": rules}))["rules"]


def test_expressions_of_all_rules_are_bounded_in_length_as_programs() -> None:
    rules = [{"action": "prefer", "expressions": [rf"\pL{{100}}{n}"]} for n in range(20)]
    assert "too many repetitions" in "".join(
        problems(json.dumps({"name": "a", "rules": rules})).values()
    )


@pytest.mark.parametrize("number", ["1" + "0" * 400, "-1" + "0" * 400, "NaN", "Infinity", "1e999"])
def test_numbers_beyond_all_bounds(number: str) -> None:
    text = (
        f'{{"name": "a", "limits": {{"depth": {number}}}, "thresholds": {{"relevant": {number}}}}}'
    )
    found = problems(text)
    assert found.keys() == {"limits.depth", "thresholds.relevant"}
    assert all(len(reason) < 200 for reason in found.values())


@pytest.mark.parametrize("value", ["0x" + "f" * 9_000, "[0b1" + "0" * 20_000 + "]"])
def test_numbers_that_python_does_not_write(value: str) -> None:
    for key in ("limits.depth", "weights.near", "seeds", "name", "queue", "rules"):
        found = problems(f"{key} = {value}" if key == "name" else f'name = "a"\n{key} = {value}')
        assert any(place.startswith(key) for place in found), key
        assert all(len(reason) < 200 for reason in found.values())


def test_hosts_longer_than_any_are_told() -> None:
    long = ".".join(["a" * 60] * 5)
    surt = ",".join(["a" * 60] * 5)
    rule = {"action": "only", "hosts": [long], "surts": [surt, f"{surt})/x"]}
    found = problems(json.dumps({"name": "a", "rules": [rule]}))
    assert list(found) == ["rules[1].surts[1]", "rules[1].surts[2]", "rules[1].hosts[1]"]
    assert all("253" in reason for reason in found.values())


def test_keys_that_cannot_be_printed_are_told_by_escapes() -> None:
    (place,) = problems('{"name": "a", "\\ud800\\u001b": 1}')
    assert place == r"'\ud800\x1b'"
