"""The rule that decides about a capture equals the result of checking every rule."""

import random
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import AccessRule, Action, Scope, Viewer, checked_rule
from nwx.values.urlkeys import urlkey

NOW = datetime(2026, 5, 17, tzinfo=UTC)
HOSTS = ["example.com", "a.example.com", "examples.com", "example.com:8080", "b.org"]
PATHS = ["/", "/a", "/a/", "/a/b", "/ab", "/a?c=1", "/a?c=1&d=2"]
PREFIXES = [
    "", "com,", "com,example", "com,example)/", "com,example,", "com,example)/a", "com,example)/a/",
    "com,example)/a/b", "com,example)/a?c=1", "com,example:8080)/", "org,b)/", "org",
]  # fmt: skip
DIGESTS = ["", "sha1:" + "A" * 32, "sha1:" + "B" * 32]
FILES = ["", "a.warc.gz", "b.wacz", "b.wacz#archive/c.warc.gz"]
COLLECTIONS = ["", "web", "other"]
DATES = ["", "20160517000000", "20200101000000", "20240229120000"]
VIEWERS = [Viewer(), Viewer("10.0.0.1"), Viewer(user="eva"), Viewer("10.0.0.1", "eva")]
STRICTER = [Action.ALLOW, Action.LOCAL, Action.EMBARGO, Action.BLOCK, Action.EXCLUDE]


@dataclass(frozen=True)
class Seen:
    """The properties that rules match."""

    urlkey: str
    url: str
    digest: str
    collection: str
    source_file: str
    timestamp: str


def any_rule(chance: random.Random) -> AccessRule:
    prefix = chance.choice(PREFIXES)
    since, to = sorted(chance.choices(DATES, k=2))
    scope = Scope(
        prefix=prefix,
        is_exact=bool(prefix) and chance.random() < 0.2,
        digest=chance.choice([*DIGESTS, "", ""]),
        collection=chance.choice([*COLLECTIONS, "", ""]),
        source_file=chance.choice([*FILES, "", "", "", ""]),
        date_from=since,
        date_to=to,
    )
    action = chance.choice(STRICTER)
    ends: dict[str, Any] = {}
    if action is Action.EMBARGO:
        ends = chance.choice([{"until": "2020"}, {"until": "2030"}, {"years": 2}, {"years": 10}])
    users = ("eva",) if action is Action.LOCAL or chance.random() < 0.2 else ()
    addresses = ("10.0.0.0/8",) if chance.random() < 0.2 else ()
    return checked_rule(AccessRule("", action, scope, users=users, addresses=addresses, **ends))


def any_capture(chance: random.Random) -> Seen:
    url = f"http://{chance.choice(HOSTS)}{chance.choice(PATHS)}"
    if chance.random() < 0.2:
        url = f"urn:view:{url}"
    return Seen(
        urlkey(url),
        url,
        chance.choice(DIGESTS),
        chance.choice(COLLECTIONS),
        chance.choice(FILES),
        chance.choice([*DATES[1:], "20160517000001", "20240517120000", "20240518000000"]),
    )


def decided(rules: list[AccessRule], seen: Seen, viewer: Viewer) -> tuple[Action, str]:
    """Return the action and the id of the deciding rule, as documented."""
    best: tuple[tuple[Any, ...], Action, str] = ((), Action.ALLOW, "")
    for rule in rules:
        named = viewer.user in rule.users or bool(viewer.address and rule.addresses)
        if not is_about(rule, seen) or is_over(rule, seen):
            continue
        if rule.names_viewers and not named and rule.action is not Action.LOCAL:
            continue
        is_shown = rule.action is Action.LOCAL and named
        action = Action.ALLOW if is_shown else rule.action
        scope = rule.scope
        rank = (
            bool(scope.digest), scope.is_exact, len(scope.prefix), bool(scope.source_file),
            bool(scope.collection), bool(scope.date_from or scope.date_to), named,
            STRICTER.index(action), rule.id,
        )  # fmt: skip
        best = max(best, (rank, action, rule.id))
    return best[1:]


def is_about(rule: AccessRule, seen: Seen) -> bool:
    scope = rule.scope
    return (
        scope.digest in ("", seen.digest)
        and scope.collection in ("", seen.collection)
        and scope.source_file in ("", seen.source_file, seen.source_file.split("#")[0])
        and (scope.date_from or "0") <= seen.timestamp <= (scope.date_to or "9")
        and any(is_within(key, scope) for key in keys(seen))
    )


def keys(seen: Seen) -> list[str]:
    return [seen.urlkey, urlkey(seen.url.removeprefix("urn:view:"))]


def is_within(key: str, scope: Scope) -> bool:
    prefix = scope.prefix
    if scope.is_exact or not prefix:
        return key == prefix or not prefix
    if prefix.endswith(")/"):
        host = key.partition(")/")[0]
        return key.startswith(prefix) or ("/" not in host and f"{host.split(':')[0]})/" == prefix)
    if prefix.endswith("/"):
        return key.startswith((prefix, prefix[:-1] + "?")) or key == prefix[:-1]
    if ")" not in prefix and not prefix.endswith(","):
        return key.startswith(prefix) and key[len(prefix)] in "),:"
    return key.startswith(prefix)


def is_over(rule: AccessRule, seen: Seen) -> bool:
    if rule.years is not None:
        shown = f"{int(seen.timestamp[:4]) + rule.years}{seen.timestamp[4:8]}"
        return shown <= "20260517"
    return rule.action is Action.EMBARGO and rule.until <= "20260517000000"


@pytest.mark.parametrize("seed", range(12))
def test_the_rule_that_decides_is_the_most_specific(seed: int) -> None:
    chance = random.Random(seed)
    rules = [any_rule(chance) for _ in range(chance.choice([1, 3, 30]))]
    made = AccessRules({rule.id: rule for rule in rules}.values(), "1")
    hidden = 0
    for _ in range(100):
        seen = any_capture(chance)
        for viewer in VIEWERS:
            decisions = made.for_viewer(viewer, NOW)
            found = decisions.decide(seen)
            wanted = decided(rules, seen, viewer)
            assert (found.action, found.rule.id if found.rule else "") == wanted
            assert decisions.hides(seen) == found.is_hidden
            assert not found.is_hidden or decisions.touches(seen.urlkey)
            assert not found.is_hidden or decisions.touches(seen.urlkey[:5], f"{seen.urlkey}!")
            hidden += found.is_hidden
    assert hidden or len(rules) < 30
