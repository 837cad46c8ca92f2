"""Decisions of access rules on captures, for one viewer at one moment.

The most specific rule whose scope matches the capture decides: by digest, then exact URL, then
longer prefix, then archive file, then collection, then all. Among equals, a rule with dates
precedes one without, then a rule that names its viewers, then the stricter rule.
"""

import hashlib
import ipaddress
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

from nwx.data_classes import dataclass
from nwx.engine.access.matches import RuleMatcher, TimedRule
from nwx.engine.access.rules import STRICTNESS, AccessRule, Action, Viewer
from nwx.values.timestamps import to_timestamp

_Network = ipaddress.IPv4Network | ipaddress.IPv6Network
_ADDRESSES_KEPT = 4_096


class ViewerClasses:
    """Groups viewers named by the same rules into classes, identified by rule numbers."""

    def __init__(self, rules: Sequence[AccessRule]) -> None:
        users, networks = defaultdict(set), defaultdict(set)
        for number, rule in enumerate(rules):
            for user in rule.users:
                users[user.casefold()].add(number)
            for text in rule.addresses:
                networks[ipaddress.ip_network(text)].add(number)
        self._users: dict[str, set[int]] = dict(users)
        self._networks: list[tuple[_Network, set[int]]] = list(networks.items())
        self._at = lru_cache(_ADDRESSES_KEPT)(self._rules_at)

    def named(self, viewer: Viewer) -> frozenset[int]:
        """Return the numbers of the rules that name a viewer."""
        by_address = self._at(viewer.address) if self._networks else frozenset[int]()
        by_user = self._users.get(viewer.user.casefold()) if viewer.user else None
        return by_address | by_user if by_user else by_address

    def _rules_at(self, text: str) -> frozenset[int]:
        try:
            # An address may be followed by the name of an interface: fe80::1%eth0.
            address = ipaddress.ip_address(text.partition("%")[0])
        except ValueError:
            return frozenset()
        if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        found = (numbers for network, numbers in self._networks if address in network)
        return frozenset().union(*found)


_DAY_DIGITS = 8
_END_OF_DAY = "240000"
_NEVER = "99999999999999"
_CLASSES_KEPT = 256


class AccessSubject(Protocol):
    """The fields of a capture that rules use; digest and collection are "" if unknown."""

    @property
    def urlkey(self) -> str:
        """The urlkey."""

    @property
    def url(self) -> str:
        """The URL."""

    @property
    def digest(self) -> str:
        """The digest, in its normal form."""

    @property
    def collection(self) -> str:
        """The collection."""

    @property
    def source_file(self) -> str:
        """The name of the archive file."""

    @property
    def timestamp(self) -> str:
        """The timestamp, 14 digits."""


class AskedCapture(NamedTuple):
    """A capture to decide on, which may not exist; unknown fields are ""."""

    urlkey: str
    url: str
    digest: str = ""
    collection: str = ""
    source_file: str = ""
    timestamp: str = ""


class Decision(NamedTuple):
    """The decision on a capture: `allow` or the action that hides it, and the rule."""

    action: Action
    rule: AccessRule | None = None

    @property
    def is_hidden(self) -> bool:
        """Whether the capture is not shown."""
        return self.action is not Action.ALLOW


ALLOWED = Decision(Action.ALLOW)
"""The decision on a capture to which no rule applies."""


class Decisions:
    """The decisions for one class of viewers, until the next rule begins or ends.

    Equal `key` means equal decisions, "" that nothing is hidden. `restricting` are the rules that
    hide captures from these viewers, `timed` all rules that apply to them, in the order in which
    they decide. `mark` differs if results computed for other viewers cannot be reused.
    """

    def __init__(self, rules: Sequence[TimedRule], version: str = "") -> None:
        self.timed = tuple(rules)
        self.mark = version.rpartition("-")[0]
        self._matcher = RuleMatcher(rules)
        self.restricting = tuple(each.rule for each in rules if each.is_restricting)
        self.hides_nothing = not self.restricting
        self.key = "" if self.hides_nothing else _key(rules, version)

    @cached_property
    def _restricting(self) -> RuleMatcher:
        return RuleMatcher([each for each in self.timed if each.is_restricting])

    def decide(self, capture: AccessSubject) -> Decision:
        """Return the decision on a capture."""
        if not self.timed:
            return ALLOWED
        found = self._matcher.first(
            capture.urlkey,
            capture.url,
            capture.digest,
            capture.collection,
            capture.source_file,
            capture.timestamp,
        )
        return ALLOWED if found is None else Decision(found.action, found.rule)

    def hides(self, capture: AccessSubject) -> bool:
        """Return whether a capture is hidden."""
        return not self.hides_nothing and self.decide(capture).is_hidden

    def hides_values(
        self,
        urlkey: str,
        url: str,
        digest: str,
        collection: str,
        source_file: str,
        timestamp: str,
    ) -> bool:
        """Return whether a capture, given by its values, is hidden."""
        if self.hides_nothing:
            return False
        found = self._matcher.first(urlkey, url, digest, collection, source_file, timestamp)
        return found is not None and found.is_restricting

    def excludes(self, urlkey: str) -> bool:
        """Return whether a rule on its URL excludes all captures that a urlkey may have."""
        found = None if self.hides_nothing else self._matcher.of_url(urlkey)
        return found is not None and found.action is Action.EXCLUDE

    def touches(self, urlkey: str, end: str | None = None) -> bool:
        """Return whether a rule may hide captures of a urlkey, or from it up to `end`.

        False is certain, True is not. The captures of a page include its renders.
        """
        if self.hides_nothing:
            return False
        return self._restricting.touches(urlkey, end)


SHOWS_ALL = Decisions(())
"""The decisions for viewers from whom nothing is hidden."""


@dataclass(frozen=True, slots=True)
class _Kept:
    decisions: Decisions
    begins: str
    ends: str


class AccessRules:
    """All rules of an archive at one version; thread-safe.

    If `purges_nothing`, imports skip no captures.
    """

    def __init__(self, rules: Iterable[AccessRule] = (), version: str = "") -> None:
        self.rules = tuple(rules)
        self.version = version
        self._viewers = ViewerClasses(self.rules)
        self._kept: dict[frozenset[int], _Kept] = {}
        purging = [_timed(rule, rule.action, "") for rule in self.rules if rule.purged]
        self._purging = RuleMatcher(purging)
        self.purges_nothing = not purging

    def for_viewer(self, viewer: Viewer, now: datetime | None = None) -> Decisions:
        """Return the decisions for a viewer, now or at a moment; the same object while unchanged.

        A `now` without a time zone is taken as UTC.
        """
        if viewer.sees_all or not self.rules:
            return SHOWS_ALL
        moment = to_timestamp(now or datetime.now(UTC))
        named = self._viewers.named(viewer)
        kept = self._kept.get(named)
        # A moment given by the caller may be earlier than the cached decisions.
        if now is None and kept is not None and kept.begins <= moment < kept.ends:
            return kept.decisions
        timed = list(self._timed(named, moment))
        decisions = Decisions(sorted(timed, key=_order, reverse=True), self.version)
        if now is None:
            if len(self._kept) >= _CLASSES_KEPT:
                self._kept = {}
            self._kept[named] = _Kept(decisions, moment, self._next_change(moment))
        return decisions

    def purges(self, capture: AccessSubject) -> bool:
        """Return whether imports must skip a capture."""
        if self.purges_nothing:
            return False
        found = self._purging.first(
            capture.urlkey,
            capture.url,
            capture.digest,
            capture.collection,
            capture.source_file,
            capture.timestamp,
        )
        return found is not None

    def _timed(self, named: frozenset[int], moment: str) -> Iterable[TimedRule]:
        for number, rule in enumerate(self.rules):
            if rule.action is Action.LOCAL:
                yield _timed(rule, Action.ALLOW if number in named else Action.LOCAL, "")
            elif rule.names_viewers and number not in named:
                continue
            elif rule.action is not Action.EMBARGO:
                yield _timed(rule, rule.action, "")
            elif rule.years is not None:
                yield _timed(rule, rule.action, _last_open_day(moment, rule.years))
            elif moment < rule.until:
                yield _timed(rule, rule.action, "")

    def _next_change(self, moment: str) -> str:
        """Return the moment at which other rules apply: the end of an embargo, or of the day."""
        ends = [rule.until for rule in self.rules if rule.until > moment]
        if any(rule.years is not None for rule in self.rules):
            ends.append(f"{moment[:_DAY_DIGITS]}{_END_OF_DAY}")
        return min(ends, default=_NEVER)


def _last_open_day(moment: str, years: int) -> str:
    """Return the end of the last day whose captures are `years` years old."""
    year = max(int(moment[:4]) - years, 0)
    return f"{year:04}{moment[4:_DAY_DIGITS]}{_END_OF_DAY}"


def _timed(rule: AccessRule, action: Action, after: str) -> TimedRule:
    scope = rule.scope
    since = max(scope.date_from, after)
    return TimedRule(rule, action, since, scope.date_to or _NEVER, action is not Action.ALLOW)


def _order(timed: TimedRule) -> tuple[object, ...]:
    rule, scope = timed.rule, timed.rule.scope
    return (
        bool(scope.digest),
        scope.is_exact,
        len(scope.prefix),
        bool(scope.source_file),
        bool(scope.collection),
        bool(scope.date_from or scope.date_to),
        rule.names_viewers and timed.action is not Action.LOCAL,  # names this viewer
        STRICTNESS[timed.action],
        rule.id,
    )


def _key(rules: Iterable[TimedRule], version: str) -> str:
    digest = hashlib.blake2b(version.encode(), digest_size=12)
    for each in rules:
        digest.update(f"{each.rule.id} {each.action} {each.since}\n".encode())
    return digest.hexdigest()
