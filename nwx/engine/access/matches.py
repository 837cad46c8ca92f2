"""Look-up of rules by scope, in time that hardly grows with their number.

Renders, look-ups of hosts and requests with a body have other urlkeys than the URLs that they
show; the rules on these URLs apply to them too.
"""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from nwx.engine.access.rules import AccessRule, Action, Scope
from nwx.errors import UrlError
from nwx.values.render_names import RENDER_KEY_STARTS, render_name
from nwx.values.urlkeys import urlkey as urlkey_of


class PrefixSet:
    """Sorted prefixes, each with the longest other prefix that it starts with.

    The candidate for a text is the prefix just before its insertion point, or a prefix of this
    candidate: anything sorted between a prefix and a text that starts with it starts with it too.
    """

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._prefixes = sorted(prefixes)
        self._parents = _parents(self._prefixes)

    def prefixes_of(self, text: str) -> Iterator[str]:
        """Yield the prefixes of a text, the longest first."""
        place = bisect_right(self._prefixes, text) - 1
        while place >= 0:
            prefix = self._prefixes[place]
            if text.startswith(prefix):
                yield prefix
            place = self._parents[place]

    def holds(self, text: str) -> bool:
        """Return whether a text starts with any of the prefixes."""
        return any(True for _ in self.prefixes_of(text))

    def reaches(self, start: str, end: str) -> bool:
        """Return whether any text from `start` up to, excluding, `end` has one of the prefixes."""
        place = bisect_left(self._prefixes, start)
        return start < end and (
            (place < len(self._prefixes) and self._prefixes[place] < end) or self.holds(start)
        )


def _parents(prefixes: list[str]) -> list[int]:
    """Return for each sorted prefix the position of the longest other it starts with, or -1."""
    parents: list[int] = []
    open_places: list[int] = []
    for place, prefix in enumerate(prefixes):
        while open_places and not prefix.startswith(prefixes[open_places[-1]]):
            open_places.pop()
        parents.append(open_places[-1] if open_places else -1)
        open_places.append(place)
    return parents


_HOST_STARTS = ("dns:", "whois:")
SUBJECT_STARTS = (*RENDER_KEY_STARTS, *_HOST_STARTS)
"""The prefixes of the urlkeys of renders and of look-ups of hosts."""

BODY_MARK = "__wb_method="
"""The text contained in the urlkeys of requests with a body."""


def subject_key(urlkey: str, url: str) -> str:
    """Return the urlkey of the URL that a capture shows, "" if it is its own urlkey.

    `url` is its URL, or "" if only the urlkey is known.
    """
    uri = url or urlkey
    if BODY_MARK in urlkey:
        page = url
    elif not urlkey.startswith(SUBJECT_STARTS):
        return ""
    elif urlkey.startswith(_HOST_STARTS):
        host = uri.partition(":")[2].strip("/")
        page = f"http://{host}/" if host else ""
    else:
        name = render_name(uri)
        page = name.url if name else ""
    try:
        return urlkey_of(page) if page else ""
    except UrlError:
        return ""


_BEHIND = chr(0x10FFFF)


class TimedRule(NamedTuple):
    """A rule as applied to one viewer at one moment.

    `action` is the resulting action, `since` and `to` the timestamps of the captures it applies to,
    both inclusive.
    """

    rule: AccessRule
    action: Action
    since: str
    to: str
    is_restricting: bool


ALL_TIME = ("", "99999999999999")
"""`since` and `to` of a rule for captures of any time."""

_Ranked = tuple[int, TimedRule]
_Buckets = dict[str, list[_Ranked]]


class RuleMatcher:
    """Finds the first of several rules that applies to a capture."""

    def __init__(self, rules: Sequence[TimedRule]) -> None:
        self._exact: _Buckets = defaultdict(list)
        self._prefixes: _Buckets = defaultdict(list)
        self._digests: _Buckets = defaultdict(list)
        self._files: _Buckets = defaultdict(list)
        self._collections: _Buckets = defaultdict(list)
        self._others: list[_Ranked] = []
        for rank, rule in enumerate(rules):
            self._add((rank, rule))
        self._starts = PrefixSet(self._prefixes)
        self._has_urls = bool(self._exact or self._prefixes)
        self._has_others = bool(self._digests or self._files or self._collections or self._others)

    def _add(self, ranked: _Ranked) -> None:
        scope = ranked[1].rule.scope
        if scope.digest:
            self._digests[scope.digest].append(ranked)
        elif scope.prefix:
            keys, starts = reached_keys(scope)
            for key in keys:
                self._exact[key].append(ranked)
            for start in starts:
                self._prefixes[start].append(ranked)
        elif scope.source_file:
            self._files[scope.source_file].append(ranked)
        elif scope.collection:
            self._collections[scope.collection].append(ranked)
        else:
            self._others.append(ranked)

    def first(
        self,
        urlkey: str,
        url: str,
        digest: str,
        collection: str,
        source_file: str,
        timestamp: str,
    ) -> TimedRule | None:
        """Return the first rule that applies to a capture."""
        best: _Ranked | None = None
        keys = _keys(urlkey, url)
        for bucket in self._buckets(keys, digest, collection, source_file):
            for ranked in bucket:
                if best is not None and ranked[0] > best[0]:
                    break
                rule = ranked[1]
                if rule.since <= timestamp <= rule.to and _holds(
                    rule.rule.scope, keys, collection, source_file
                ):
                    best = ranked
                    break
        return None if best is None else best[1]

    def _buckets(
        self, keys: tuple[str, ...], digest: str, collection: str, source_file: str
    ) -> Iterator[list[_Ranked]]:
        if self._has_urls:
            for key in keys:
                if key in self._exact:
                    yield self._exact[key]
                for start in self._starts.prefixes_of(key):
                    yield self._prefixes[start]
        if self._has_others:
            if digest in self._digests:
                yield self._digests[digest]
            for name in {source_file, source_file.partition("#")[0]}:
                if name in self._files:
                    yield self._files[name]
            if collection in self._collections:
                yield self._collections[collection]
            yield self._others

    def of_url(self, urlkey: str) -> TimedRule | None:
        """Return the rule for all captures of a urlkey, None if it depends on other fields."""
        buckets = [self._exact[urlkey]] if urlkey in self._exact else []
        buckets += [self._prefixes[start] for start in self._starts.prefixes_of(urlkey)]
        rank, rule = min((bucket[0] for bucket in buckets), default=(self._first_other, None))
        if rule is None or rank >= self._first_other:
            return None
        scope = rule.rule.scope
        is_plain = not (scope.digest or scope.collection or scope.source_file)
        return rule if is_plain and (rule.since, rule.to) == ALL_TIME else None

    @cached_property
    def _first_other(self) -> float:
        """The rank of the first rule that is not looked up by urlkey."""
        named = (*self._digests.values(), *self._files.values(), *self._collections.values())
        return min((one[0][0] for one in (*named, self._others) if one), default=math.inf)

    @cached_property
    def _reached(self) -> PrefixSet:
        """The urlkey prefixes that a rule may cover, including requests with a body."""
        exact = (key.partition("?")[0] + "?" for key in self._exact)
        return PrefixSet({*self._prefixes, *exact})

    def touches(self, urlkey: str, end: str | None) -> bool:
        """Return whether a rule may cover captures of a urlkey, or from it up to `end`."""
        if self._has_others:
            return True
        if any(key in self._exact or self._starts.holds(key) for key in _keys(urlkey, "")):
            return True
        if BODY_MARK in urlkey and self._reached.holds(urlkey):
            return True
        if end is None:
            return False
        return (
            self._reached.reaches(urlkey, end)
            or any(urlkey <= key < end for key in self._exact)
            or any(start < end and urlkey < start + _BEHIND for start in SUBJECT_STARTS)
        )


def _keys(urlkey: str, url: str) -> tuple[str, ...]:
    """Return the urlkeys by which rules may refer to a capture."""
    subject = subject_key(urlkey, url)
    return (urlkey, subject) if subject else (urlkey,)


def reached_keys(scope: Scope) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the urlkeys and the urlkey prefixes that the prefix of a scope covers."""
    prefix = scope.prefix
    if scope.is_exact:
        return (prefix,), ()
    if prefix.endswith(")/"):  # a host, on any port
        host = prefix.removesuffix(")/")
        return (), (prefix,) if ":" in host else (prefix, f"{host}:")
    if ")" not in prefix and not prefix.endswith((",", ":")) and ":" not in prefix:  # a domain
        return (), tuple(f"{prefix}{sign}" for sign in "),:")
    if prefix.endswith("/"):  # a folder
        folder = prefix.removesuffix("/")
        return (folder,), (prefix, f"{folder}?")
    return (), (prefix,)


def _holds(scope: Scope, keys: tuple[str, ...], collection: str, source_file: str) -> bool:
    """Return whether a scope matches, apart from its digest and dates."""
    if scope.collection and scope.collection != collection:
        return False
    if scope.source_file and scope.source_file not in (source_file, source_file.partition("#")[0]):
        return False
    # A rule with a digest was found by it, so its prefix is still to be checked.
    return not (scope.digest and scope.prefix) or _reaches(scope, keys)


def _reaches(scope: Scope, keys: tuple[str, ...]) -> bool:
    exact, starts = reached_keys(scope)
    return any(key in exact or key.startswith(starts) for key in keys)
