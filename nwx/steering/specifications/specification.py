"""Crawl specifications: the topic of a crawl, the scoring of pages and links, link rules."""

import hashlib
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

import msgspec
import re2

from nwx.errors import UrlError, UsageError
from nwx.values.urlkeys import urlkey
from nwx.values.urls import url_parts

_VERSION_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Keyword:
    """A word or phrase of relevant pages; `language` is ISO 639-1, "" for any."""

    text: str
    weight: float = 1.0
    language: str = ""


class EntityKind(StrEnum):
    """The kind of an entity."""

    PERSON = "person"
    ORGANISATION = "organisation"
    PLACE = "place"
    EVENT = "event"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Entity:
    """A named entity that a relevant page mentions under its name or an alias.

    `identifier` is any text, such as the address of its entry in Wikidata.
    """

    name: str
    aliases: tuple[str, ...] = ()
    kind: EntityKind = EntityKind.OTHER
    identifier: str = ""
    weight: float = 1.0


class RuleAction(StrEnum):
    """What a rule does with the links it covers.

    `blacklist`: never fetched. `prefer`: fetched earlier. `only`: links that no rule of this action
    covers are not followed.
    """

    BLACKLIST = "blacklist"
    PREFER = "prefer"
    ONLY = "only"


@dataclass(frozen=True, slots=True)
class LinkRule:
    """A rule that covers a link if an expression, a SURT prefix or a host matches.

    Expressions use RE2 syntax and match anywhere in the URL. A host covers its subdomains, and so
    does a SURT prefix without path (`org,example`).
    """

    action: RuleAction
    expressions: tuple[str, ...] = ()
    surts: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a crawl; None is unlimited. `depth` counts links from a seed."""

    depth: int | None = None
    pages: int | None = None
    pages_per_host: int | None = None


@dataclass(frozen=True, slots=True)
class ScoreWeights:
    """Weights of the parts of a link's relevance.

    `document` is the score of the linking page, `near` the score of the text near the link, `role`
    the value of the link's role, `preferred` whether a rule prefers the URL, `novelty` whether the
    URL is new.
    """

    document: float = 0.25
    near: float = 0.45
    role: float = 0.1
    preferred: float = 0.1
    novelty: float = 0.1


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Minimum score of a `relevant` page and minimum relevance of a followed link.

    By default links in the text and in menus are followed, whatever text is near them, but not
    links to logins, advertisements, calendars and comments.
    """

    relevant: float = 0.1
    follow: float = 0.13


@dataclass(frozen=True, slots=True)
class DueInterval:
    """The days after which a page is due again; for all pages if `surts` and `hosts` are empty."""

    days: float
    surts: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CrawlSpecification:
    """What a crawl is about; `name` names the crawl.

    `collection` is the collection whose documents are analysed, "" for all. `queue` is the address
    of the crawler's queue, "" for the archive's queue. `like` names example documents, `like_words`
    are the words found in them.
    """

    name: str
    seeds: tuple[str, ...] = ()
    keywords: tuple[Keyword, ...] = ()
    entities: tuple[Entity, ...] = ()
    rules: tuple[LinkRule, ...] = ()
    limits: Limits = field(default_factory=Limits)
    weights: ScoreWeights = field(default_factory=ScoreWeights)
    thresholds: Thresholds = field(default_factory=Thresholds)
    intervals: tuple[DueInterval, ...] = ()
    collection: str = ""
    queue: str = ""
    like: tuple[str, ...] = ()
    like_words: tuple[Keyword, ...] = ()

    @property
    def all_keywords(self) -> tuple[Keyword, ...]:
        """The keywords, then the words of examples."""
        return self.keywords + self.like_words

    def version(self) -> str:
        """Return 16 hex digits that change whenever an analysis may have other results.

        Keywords, entities, rules, weights and thresholds count; the order of keywords and entities
        does not. Slow for long specifications.
        """
        keywords = sorted((one.text, one.weight, one.language) for one in self.all_keywords)
        entities = sorted(
            (one.name, sorted(one.aliases), one.kind, one.identifier, one.weight)
            for one in self.entities
        )
        content = (keywords, entities, self.rules, self.weights, self.thresholds)
        return hashlib.sha256(msgspec.json.encode(content)).hexdigest()[:_VERSION_DIGITS]


MAX_EXPRESSION_CHARACTERS = 2_000
_AT_ONCE = 50
_MEMORY_BYTES = 8 << 20


class RuleError(UsageError):
    """An expression that RE2 rejects."""


class ExpressionSet:
    """Regular expressions searched for together; false if empty."""

    def __init__(self, expressions: Sequence[str]) -> None:
        compiled = [(text, compile_expression(text)) for text in dict.fromkeys(expressions)]
        self._groups = [
            _Group(compiled[start : start + _AT_ONCE])
            for start in range(0, len(compiled), _AT_ONCE)
        ]

    def __bool__(self) -> bool:
        return bool(self._groups)

    def first(self, url: str) -> str:
        """Return the first expression that matches a URL, "" if none does."""
        return next((found for group in self._groups if (found := group.first(url))), "")


class _Group:
    """Expressions searched for at once, if RE2 accepts them combined."""

    def __init__(self, compiled: "list[tuple[str, re2._Regexp[str]]]") -> None:
        self._compiled = compiled
        self._any: re2._Regexp[str] | None = None
        # An unclosed quotation (\Q) would continue into the next expression.
        if not any("\\Q" in text for text, _ in compiled):
            with suppress(RuleError):  # too large as one
                self._any = compile_expression("|".join(f"(?:{text})" for text, _ in compiled))

    def first(self, url: str) -> str:
        """Return the first expression that matches a URL, "" if none does."""
        if self._any is not None and self._any.search(url) is None:
            return ""
        return next((text for text, one in self._compiled if one.search(url)), "")


def compile_expression(text: str) -> "re2._Regexp[str]":
    """Return a compiled expression; raises RuleError with the reason if RE2 rejects it."""
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = _MEMORY_BYTES
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0]
        words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise RuleError(words) from error


_SCHEME = re.compile(r"[a-z]+:/*\(", re.I)
_WWW = re.compile(r",www\d*(?=:|$)")


def normal_surt(prefix: str) -> str:
    """Return a SURT prefix as a prefix of urlkeys.

    `http://(org,example,)/a` becomes `org,example)/a`. Without `)` subdomains are covered too:
    `org,example`. Scheme and `www` are removed, as in urlkeys.
    """
    text = _SCHEME.sub("", prefix.strip()).lstrip("(").lower()
    host, bracket, path = text.partition(")")
    host = host.rstrip(",").replace(",:", ":")
    without_www = _WWW.sub("", host)
    if bracket:
        return f"{without_www}){path or '/'}"
    return without_www if "," in without_www else host  # `com,www` is not all of com


class SurtPrefixes:
    """SURT prefixes, found by binary search; false if empty."""

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._hosts: set[str] = set()
        paths: dict[str, list[str]] = defaultdict(list)
        for prefix in map(normal_surt, prefixes):
            host, bracket, path = prefix.partition(")")
            if bracket:
                paths[host].append(path)
            elif host:
                self._hosts.add(host)
        self._paths = {host: _shortest(found) for host, found in paths.items()}

    def __bool__(self) -> bool:
        return bool(self._hosts or self._paths)

    def covering(self, urlkey: str) -> str:
        """Return a prefix that covers a urlkey, "" if none does."""
        host, _, path = urlkey.partition(")")
        for known in _ancestors(host):
            if known in self._hosts:
                return known
        paths = self._paths.get(host)
        if paths:
            place = bisect_right(paths, path)
            if place and path.startswith(paths[place - 1]):
                return f"{host}){paths[place - 1]}"
        return ""


def normal_host(host: str) -> str:
    """Return a listed host as in URLs: lower case, IDNA, without outer dots or leading `*.`."""
    return url_parts(f"http://{host.strip().removeprefix('*.').strip('.')}/").host


def covering_hosts(host: str) -> Iterator[str]:
    """Yield a host and the domains it is in: a.example.org, example.org, org."""
    while host:
        yield host
        host = host.partition(".")[2]


def _ancestors(host: str) -> Iterator[str]:
    """Yield the host of a urlkey, then without its port, then the domains it is in."""
    yield host
    host = host.partition(":")[0]
    while host:
        yield host
        host = host.rpartition(",")[0]


def _shortest(paths: list[str]) -> list[str]:
    """Return the paths, in order, that do not begin with another of them."""
    kept: list[str] = []
    for path in sorted(paths):
        if not (kept and path.startswith(kept[-1])):
            kept.append(path)
    return kept


class RuleVerdict(NamedTuple):
    """Verdict of the rules on a URL; `rule` is the deciding rule, for display.

    `outside`: rules with the action `only` exist, and none covers the URL.
    """

    blacklisted: bool = False
    preferred: bool = False
    outside: bool = False
    rule: str = ""


class LinkRules:
    """The link rules of a specification.

    The time of a verdict hardly depends on the number of host and SURT prefix rules, and grows with
    the number of expressions. Raises RuleError on an expression that RE2 rejects.
    """

    def __init__(self, rules: Sequence[LinkRule]) -> None:
        self._covers = {action: _Covers(rules, action) for action in RuleAction}
        self._is_limited = any(rule.action is RuleAction.ONLY for rule in rules)
        self._looks_at_host = any(rule.hosts for rule in rules)
        self._looks_at_key = any(rule.surts for rule in rules)

    def verdict(self, url: str) -> RuleVerdict:
        """Return the verdict on a URL; blacklisting takes precedence over all other rules."""
        host = url_parts(url).host if self._looks_at_host else ""
        key = _key(url) if self._looks_at_key else ""
        if found := self._covers[RuleAction.BLACKLIST].find(url, host, key):
            return RuleVerdict(blacklisted=True, rule=found)
        if self._is_limited and not self._covers[RuleAction.ONLY].find(url, host, key):
            return RuleVerdict(outside=True, rule="no rule of the action only covers it")
        found = self._covers[RuleAction.PREFER].find(url, host, key)
        return RuleVerdict(preferred=bool(found), rule=found)


def _key(url: str) -> str:
    try:
        return urlkey(url)
    except UrlError:
        return ""


class UrlCover:
    """Hosts, with their subdomains, and SURT prefixes that cover URLs."""

    def __init__(self, hosts: Iterable[str], surts: Iterable[str]) -> None:
        self._hosts = frozenset(map(normal_host, hosts))
        self._surts = SurtPrefixes(surts)

    def covering(self, host: str, key: str) -> str:
        """Return the host or prefix that covers a URL, as text, "" if none does."""
        for known in covering_hosts(host) if self._hosts else ():
            if known in self._hosts:
                return f"host {known}"
        found = self._surts.covering(key) if self._surts else ""
        return f"SURT prefix {found}" if found else ""


class _Covers:
    """The URLs covered by the rules of one action."""

    def __init__(self, rules: Sequence[LinkRule], action: RuleAction) -> None:
        own = [rule for rule in rules if rule.action is action]
        self._action = action
        self._cover = UrlCover(
            (host for rule in own for host in rule.hosts),
            (surt for rule in own for surt in rule.surts),
        )
        self._expressions = ExpressionSet([text for rule in own for text in rule.expressions])

    def find(self, url: str, host: str, key: str) -> str:
        """Return the rule that covers a URL, as text, "" if none does."""
        found = self._cover.covering(host, key)
        if not found and self._expressions and (text := self._expressions.first(url)):
            found = f"expression {text}"
        return f"{self._action} {found}" if found else ""


def rule_conditions(rule: LinkRule) -> Iterator[tuple[str, int, str]]:
    """Yield the conditions of a rule: the name of their list, place in it, and text."""
    for name in ("expressions", "surts", "hosts"):
        for place, text in enumerate(getattr(rule, name)):
            yield name, place, text
