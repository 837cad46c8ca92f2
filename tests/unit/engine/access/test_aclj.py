"""Access rules as pywb files, with the same decisions in pywb and nwx."""

import io
import json
import random
import warnings
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nwx.engine.access.aclj import (
    UnwrittenRule,
    aclj_lines,
    between,
    digest_scope,
    own_line,
    rules_of_file,
    scope_of,
    scope_words,
)
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import AccessRule, Action, Scope, Viewer, checked_rule
from nwx.errors import UsageError
from nwx.values.timestamps import date_span
from nwx.values.urlkeys import urlkey

NOW = datetime(2026, 5, 17, tzinfo=UTC)
FILE = b"""\
org,iana)/exact/line### - {"access": "allow", "url": "https://www.iana.org/exact/line"}
org,iana)/about - {"access": "block"}
org,iana)/about - {"access": "allow", "user": "staff"}
org,iana)/_css/fonts/a.ttf - {"access": "allow"}
org,iana)/_css - {"access": "exclude"}
org,iana)/### - {"access": "allow_ignore_embargo"}
org,iana)/ - {"access": "exclude"}
com,example, - {"access": "block"}
com,example)/?example=3 - {"access": "block", "user": "staff"}
com,example)/?example=1 - {"access": "allow", "user": "staff"}
com,example)/?example=1 - {"access": "block"}
com, - {"access": "allow"}
*, - {"access": "block"}
"""
# pywb matches `*,` only for URLs just before it in the file, or after all other rules.
URLS = [
    "http://iana.org/",
    "http://www.iana.org/exact/line",
    "http://iana.org/exact/line/below",
    "http://iana.org/about/us",
    "http://iana.org/_css/fonts/a.ttf",
    "http://iana.org/_css/b.css",
    "http://iana.org/other",
    "http://example.com/",
    "http://example.com/?example=1",
    "http://example.com/?example=3",
    "http://below.example.com/a",
    "http://examples.com/a",
    "http://example.at/",
]


@pytest.fixture(scope="module")
def checker() -> Any:
    """The class that makes access decisions in pywb."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries that pywb imports
        from pywb.warcserver.access_checker import AccessChecker

    return AccessChecker


def rules_of(content: bytes) -> list[AccessRule]:
    read = list(rules_of_file(io.BytesIO(content), "of pywb"))
    assert [each.problem for each in read if each.problem] == []
    return [each.rule for each in read if each.rule]


def asked(url: str, timestamp: str = "20200101000000") -> SimpleNamespace:
    return SimpleNamespace(
        urlkey=urlkey(url), url=url, digest="", collection="", source_file="",
        timestamp=timestamp,
    )  # fmt: skip


@pytest.mark.parametrize("user", ["", "staff", "others"])
@pytest.mark.parametrize("is_written_anew", [False, True])
def test_pywb_decides_as_nwx_does(
    user: str, is_written_anew: bool, tmp_path: Path, checker: Any
) -> None:
    rules = rules_of(FILE)
    lines, unwritten = aclj_lines(rules, NOW)
    assert unwritten == []
    place = tmp_path / "rules.aclj"
    place.write_bytes("".join(f"{line}\n" for line in lines).encode() if is_written_anew else FILE)
    pywb = checker(str(place))
    decisions = AccessRules(rules).for_viewer(Viewer(user=user))
    theirs = [pywb.find_access_rule(url, acl_user=user or None)["access"] for url in URLS]
    ours = [str(decisions.decide(asked(url)).action) for url in URLS]  # type: ignore[arg-type]
    assert ours == [access.replace("allow_ignore_embargo", "allow") for access in theirs]


def test_dated_rules_decide_as_in_pywb(tmp_path: Path, checker: Any) -> None:
    chance = random.Random(25)
    place = tmp_path / "empty.aclj"
    place.write_bytes(b"")
    pywb = checker(str(place))
    differing = []
    for _ in range(1_500):
        moment = _any_moment(chance)
        field = {chance.choice(["before", "after"]): _any_moment(chance)[: chance.randint(4, 14)]}
        seen = asked("http://example.com/", chance.choice([moment, _near(chance, *field.values())]))
        line = {"access": "exclude", **field}
        rules = rules_of(f"com,example)/ - {json.dumps(line)}".encode())
        ours = AccessRules(rules).for_viewer(Viewer()).decide(seen).action  # type: ignore[arg-type]
        theirs = pywb.check_date_access(seen.timestamp, "exclude", "allow", line)
        if str(ours) != theirs:
            differing.append((line, seen.timestamp, str(ours), theirs))
    assert differing == []


def _any_moment(chance: random.Random) -> str:
    start = datetime(2012, 1, 1, tzinfo=UTC)
    return f"{start + timedelta(seconds=chance.randrange(5 * 366 * 86_400)):%Y%m%d%H%M%S}"


def _near(chance: random.Random, digits: str) -> str:
    """Return a time at the first or last second of the period given by `digits`."""
    first, last = date_span(digits[: len(digits) // 2 * 2])
    moment = datetime.strptime(chance.choice([first, last]), "%Y%m%d%H%M%S")
    return f"{moment + timedelta(seconds=chance.randint(-1, 1)):%Y%m%d%H%M%S}"


def test_a_short_date_is_the_end_of_its_period() -> None:
    (rule,) = rules_of(b'com,example)/ - {"access": "exclude", "before": "2014"}')
    assert rule.scope.date_to == "20141231235958"
    (rule,) = rules_of(b'com,example)/ - {"access": "exclude", "after": "201402"}')
    assert rule.scope.date_from == "20140301000000"


@pytest.mark.parametrize("date", ["garbage", "2014abc", "201", "2014-01-01", ""])
def test_a_date_that_is_none_is_told(date: str) -> None:
    line = f'com,example)/ - {{"access": "exclude", "before": "{date or " "}"}}'
    (read,) = rules_of_file(io.BytesIO(line.encode()), "")
    assert read.rule is None and "is not a timestamp" in read.problem


def test_a_urlkey_may_contain_a_brace() -> None:
    rules = rules_of(b'com,example)/a?b={c} - {"access": "exclude"}')
    assert [rule.scope.prefix for rule in rules] == ["com,example)/a?b={c}"]


def test_files_are_written_in_descending_order_and_read_back() -> None:
    made = [
        AccessRule("", Action.EXCLUDE, Scope(url="*.b.com", prefix="com,b"), reason="r"),
        AccessRule(
            "", Action.BLOCK, Scope(url="c/*", prefix="com,c)/a/", date_to="20150101000000")
        ),
        AccessRule("", Action.LOCAL, Scope(prefix="com,d)/x"), users=("eva",)),
        AccessRule("", Action.EMBARGO, Scope(prefix="com,e)/x", is_exact=True), years=3),
        AccessRule("", Action.EMBARGO, Scope(prefix="com,f)/x"), until="2030"),
        AccessRule("", Action.EMBARGO, Scope(prefix="com,g)/x"), until="2020"),
        AccessRule("", Action.ALLOW, Scope(date_from="20160101")),
    ]
    lines, unwritten = aclj_lines(map(checked_rule, made), NOW)
    assert unwritten == []
    assert lines == [
        'com,f)/x - {"access": "block"}',
        'com,e)/x### - {"access": "block", "newer": {"years": 3}}',
        'com,d)/x - {"access": "block"}',
        'com,d)/x - {"access": "allow", "user": "eva"}',
        'com,c)/a? - {"access": "block", "url": "c/*", "before": "20150101000001"}',
        'com,c)/a/ - {"access": "block", "url": "c/*", "before": "20150101000001"}',
        'com,c)/a### - {"access": "block", "url": "c/*", "before": "20150101000001"}',
        'com,b: - {"access": "exclude", "url": "*.b.com"}',
        'com,b, - {"access": "exclude", "url": "*.b.com"}',
        'com,b) - {"access": "exclude", "url": "*.b.com"}',
        '*, - {"access": "allow", "after": "20151231235959"}',
    ]
    read = rules_of("\n".join(lines).encode())
    assert read[1].years == 3
    assert read[5].scope.date_to == "20150101000000"
    assert read[-1].scope.date_from == "20160101000000"
    assert {rule.reason for rule in read} == {"of pywb"}


def test_rules_that_pywb_cannot_hold_are_told() -> None:
    made = [
        checked_rule(AccessRule("", Action.BLOCK, Scope(collection="web"))),
        checked_rule(AccessRule("", Action.LOCAL, Scope(), addresses=("10.0.0.1",))),
        checked_rule(AccessRule("", Action.BLOCK, Scope(date_from="2014", date_to="2015"))),
    ]
    lines, unwritten = aclj_lines(made, NOW)
    assert lines == []
    assert unwritten == [
        UnwrittenRule(made[0], "pywb has no rules by digest, collection or file"),
        UnwrittenRule(made[1], "pywb has no rules by address"),
        UnwrittenRule(made[2], "pywb uses only one date of a rule"),
    ]


def test_rules_of_nwx_are_written_and_read_whole() -> None:
    scope = Scope("u", "com,a)/ä", True, "sha1:" + "A" * 32, "web", "a.warc", "2014", "2015")
    made = [
        checked_rule(
            AccessRule("", Action.LOCAL, scope, users=("eva",), addresses=("10.0.0.0/8",),
                       reason="r", made_at="20200101000000", made_by="eva", purged=True)
        ),
        checked_rule(AccessRule("", Action.EMBARGO, Scope(), years=3, reason="s")),
    ]  # fmt: skip
    assert rules_of("\n".join(map(own_line, made)).encode()) == made


def test_lists_of_urls_are_read_with_an_action() -> None:
    content = b"# excluded\nhttp://example.com/a/\n\ncom,b)/c\nd.com\ncom,e)/f###\n"
    read = list(rules_of_file(io.BytesIO(content), "list", Action.EXCLUDE))
    assert [(each.line, each.rule and each.rule.scope.prefix) for each in read] == [
        (2, "com,example)/a"),
        (4, "com,b)/c"),
        (5, "com,d)/"),
        (6, "com,e)/f"),
    ]
    assert [each.rule and each.rule.scope.is_exact for each in read] == [False, False, False, True]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("http://example.com/", "give the action"),
        ('com,a)/ - {"access": "hide"}', "access is 'hide'"),
        ('com,a)/ - {"access": ["allow"]}', "access is"),
        ('com,a)/ - {"access": "allow", "user": 7}', "not a pywb rule"),
        ('com,a)/ - x {"access": "allow"}', "not a pywb rule"),
        ('com,a)/ - {"access"', "not valid JSON"),
        ('com,a)/ - {"access": "allow", "newer": {"years": 1}}', "relative dates"),
        ('com,a)/ - {"access": "block", "older": {"years": 1}}', "relative dates"),
        ('com,a)/ - {"access": "block", "newer": {"years": 1, "days": 2}}', "relative dates"),
        ('com,a)/ - {"access": "block", "before": "soon"}', "'soon' is not a timestamp"),
        ('com,a)/ - {"access": "block", "newer": {"years": 0}}', "1 to 1,000 years"),
        ('{"action": "hide"}', "'hide'"),
        ('{"action": "block", "years": "3"}', "'years' has a wrong value"),
        ('{"action": "block", "users": "eva"}', "'users' has a wrong value"),
        ('{"url": "x"}', "not an nwx rule"),
        ("[" * 50_000 + '{"', "give the action|no JSON|no rule"),
        ("x" * 200_000, "100,000 bytes"),
    ],
    ids=lambda text: text[:40],
)
def test_lines_that_are_no_rules_are_told(line: str, problem: str) -> None:
    content = f'{line}\ncom,b)/ - {{"access": "allow"}}\n'.encode()
    first, second = rules_of_file(io.BytesIO(content))
    assert first.rule is None
    assert any(part in first.problem for part in problem.split("|")), first.problem
    assert second.line == 2
    assert second.rule


DIGEST = "sha1:" + "A" * 32


@pytest.mark.parametrize(
    ("text", "scope"),
    [
        ("http://www.Example.com/A/", Scope(prefix="com,example)/a", is_exact=True)),
        ("https://example.com/", Scope(prefix="com,example)/", is_exact=True)),
        ("example.com/a?b=1", Scope(prefix="com,example)/a?b=1", is_exact=True)),
        ("http://example.com/a*", Scope(prefix="com,example)/a")),
        ("http://example.com/a/*", Scope(prefix="com,example)/a/")),
        ("http://example.com/a?*", Scope(prefix="com,example)/a?")),
        ("http://example.com/*", Scope(prefix="com,example)/")),
        ("example.com", Scope(prefix="com,example)/")),
        ("example.com:80/a", Scope(prefix="com,example)/a", is_exact=True)),
        ("example.com:8080/a*", Scope(prefix="com,example:8080)/a")),
        ("localhost:80/", Scope(prefix="localhost)/", is_exact=True)),
        ("example.com:80", Scope(prefix="com,example)/")),
        ("intranet:80", Scope(prefix="intranet)/")),
        ("example.com:8080", Scope(prefix="com,example:8080)/")),
        ("Bücher.example", Scope(prefix="example,xn--bcher-kva)/")),
        ("192.0.2.7", Scope(prefix="7,2,0,192)/")),
        ("*.example.com", Scope(prefix="com,example")),
        ("*.example.com/*", Scope(prefix="com,example")),
        ("com,example", Scope(prefix="com,example")),
        ("com,", Scope(prefix="com,")),
        ("com,example)/a", Scope(prefix="com,example)/a")),
        ("com,example:8080)/a*", Scope(prefix="com,example:8080)/a")),
        ("com,example)/a###", Scope(prefix="com,example)/a", is_exact=True)),
        ("localhost)/a", Scope(prefix="localhost)/a")),
        ("dns:example.com", Scope(prefix="dns:example.com", is_exact=True)),
        (DIGEST, Scope(digest=DIGEST)),
        ("urn:sha1:" + "a" * 32, Scope(digest=DIGEST)),
        ("A" * 32, Scope(digest=DIGEST)),
        ("/data/crawl.warc.gz", Scope(source_file="crawl.warc.gz")),
        ("crawl.wacz", Scope(source_file="crawl.wacz")),
        ("http://a.com/c.warc.gz", Scope(prefix="com,a)/c.warc.gz", is_exact=True)),
        ("*", Scope()),
        ("*,", Scope()),
    ],
)  # fmt: skip
def test_what_a_text_names(text: str, scope: Scope) -> None:
    found = scope_of(text)
    assert Scope(found.url, *_parts(scope)) == found
    assert found.url


def _parts(scope: Scope) -> tuple[str, bool, str, str, str]:
    return (scope.prefix, scope.is_exact, scope.digest, scope.collection, scope.source_file)


@pytest.mark.parametrize("text", ["", "http://", "sha1:short", "%25" * 200, "x" * 20_000])
def test_what_names_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        scope_of(text)


@pytest.mark.parametrize(
    "text",
    ["*.example.*", "example.*", "http://www.example.*/a", "http://*.example.com/", "*a.org"],
)
def test_an_open_part_of_a_host_name_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"write example\.com for a host, \*\.example\.com for a"):
        scope_of(text)


def test_a_scope_may_be_of_some_dates_only() -> None:
    assert between(Scope(), "2014", "2014-02") == Scope(
        date_from="20140101000000", date_to="20140228235959"
    )
    assert between(Scope(), "", "") == Scope()
    with pytest.raises(UsageError, match="is not a date"):
        between(Scope(), "soon", "")


def test_digests_may_be_spelled_in_any_way() -> None:
    assert digest_scope("sha-1:" + "a" * 32).digest == DIGEST


def test_scopes_in_words() -> None:
    assert scope_words(Scope(url="*")) == "all captures"
    assert scope_words(Scope(prefix="com,a)/", is_exact=True)) == "URL com,a)/###"
    full = Scope(
        prefix="com,a)/", digest=DIGEST, collection="web", source_file="a.warc", date_to="2014"
    )
    words = f"prefix com,a)/, digest {DIGEST}, file a.warc, collection web, to 2014"
    assert scope_words(full) == words
