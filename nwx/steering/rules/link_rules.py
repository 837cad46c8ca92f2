"""Link rules compiled: whether a URL is blacklisted, preferred, or outside of a crawl."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from nwx.errors import UrlError
from nwx.steering.rules.expressions import ExpressionSet
from nwx.steering.rules.surt_prefixes import SurtPrefixes, covering_hosts, normal_host
from nwx.steering.specifications.specification import LinkRule, RuleAction
from nwx.values.urlkeys import urlkey
from nwx.values.urls import url_parts


class RuleVerdict(NamedTuple):
    """What rules say of a URL; `rule` is the one that decided, for people.

    `outside`: there are rules of the action `only`, and none covers it.
    """

    blacklisted: bool = False
    preferred: bool = False
    outside: bool = False
    rule: str = ""


class LinkRules:
    """The rules of a specification.

    Raises RuleError on an expression that RE2 does not take. The
    time of a verdict hardly depends on the number of rules for hosts and SURT
    prefixes, and grows with that of expressions.
    """

    def __init__(self, rules: Sequence[LinkRule]) -> None:
        self._covers = {action: _Covers(rules, action) for action in RuleAction}
        self._is_limited = any(rule.action is RuleAction.ONLY for rule in rules)
        self._looks_at_host = any(rule.hosts for rule in rules)
        self._looks_at_key = any(rule.surts for rule in rules)

    def verdict(self, url: str) -> RuleVerdict:
        """Return what the rules say of a URL; blacklisting comes before all else."""
        host = url_parts(url).host if self._looks_at_host else ""
        place = _Place(url, host, _key(url) if self._looks_at_key else "")
        if found := self._covers[RuleAction.BLACKLIST].find(place):
            return RuleVerdict(blacklisted=True, rule=found)
        if self._is_limited and not self._covers[RuleAction.ONLY].find(place):
            return RuleVerdict(outside=True, rule="no rule of the action only covers it")
        found = self._covers[RuleAction.PREFER].find(place)
        return RuleVerdict(preferred=bool(found), rule=found)


class _Place(NamedTuple):
    """A URL with its host and urlkey, "" where there is none, or no rule looks at it."""

    url: str
    host: str
    urlkey: str


def _key(url: str) -> str:
    try:
        return urlkey(url)
    except UrlError:
        return ""


class _Covers:
    """What rules of one action cover."""

    def __init__(self, rules: Sequence[LinkRule], action: RuleAction) -> None:
        own = [rule for rule in rules if rule.action is action]
        self._action = action
        self._hosts = {normal_host(host) for rule in own for host in rule.hosts}
        self._surts = SurtPrefixes(surt for rule in own for surt in rule.surts)
        self._expressions = ExpressionSet([text for rule in own for text in rule.expressions])
        finders: list[tuple[bool, Callable[[_Place], str]]] = [
            (bool(self._hosts), self._host),
            (bool(self._surts), self._surt),
            (bool(self._expressions), self._expression),
        ]
        self._finders = [find for is_needed, find in finders if is_needed]

    def find(self, place: _Place) -> str:
        """Return the rule that covers a URL, "" where none does."""
        for find in self._finders:
            if found := find(place):
                return found
        return ""

    def _host(self, place: _Place) -> str:
        found = next((host for host in covering_hosts(place.host) if host in self._hosts), "")
        return f"{self._action} host {found}" if found else ""

    def _surt(self, place: _Place) -> str:
        found = self._surts.covering(place.urlkey)
        return f"{self._action} SURT prefix {found}" if found else ""

    def _expression(self, place: _Place) -> str:
        found = self._expressions.first(place.url)
        return f"{self._action} expression {found}" if found else ""


def rule_conditions(rule: LinkRule) -> Iterator[tuple[str, int, str]]:
    """Yield the conditions of a rule: the name of their list, place in it, and text."""
    for name in ("expressions", "surts", "hosts"):
        for place, text in enumerate(getattr(rule, name)):
            yield name, place, text
