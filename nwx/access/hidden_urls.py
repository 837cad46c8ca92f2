"""URLs whose captures are all hidden, and the error for captures that may not be shown."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import compress
from threading import Lock
from typing import Self

from nwx.captures import CaptureColumns
from nwx.engine.access.decisions import Decision, Decisions
from nwx.engine.access.rules import Action
from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.errors import ErrorText, NwxError, UrlError
from nwx.values.urlkeys import urlkey

_AT_ONCE = 200
_MANY = 2_000
_MOST_NEAR = 20
_ANY_TIME = "20000101000000"
_LONGEST_KEY = 8_000

DECIDED = ("urlkey", "url", "digest", "collection", "source_file", "timestamp")
"""The fields of a capture used by access rules, in the order of `hides_values`."""

NAMING = ("redirect_to", "refers_to_url", "via")
"""The fields of a capture that name other URLs."""


class HiddenUrls:
    """The URLs hidden from a viewer.

    A URL is hidden if all its captures are. A URL without captures is hidden if rules about URLs
    hide it. Few URLs are looked up one by one; for many, all captures are read once, and the result
    is cached until captures are added.
    """

    def __init__(self, engine: Engine, decisions: Decisions) -> None:
        self._engine = engine
        self._decisions = decisions
        self._guard = Lock()
        self._all: tuple[str, frozenset[str]] | None = None

    def among(self, urls: Collection[str]) -> set[str]:
        """Return the hidden URLs; invalid ones never count."""
        if self._decisions.hides_nothing:
            return set()
        keys = {url: key for url in set(urls) if (key := key_of(url))}
        hidden = self.keys_among(set(keys.values()))
        return {url for url, key in keys.items() if key in hidden}

    def visible(self, columns: Iterator[CaptureColumns]) -> Iterator[CaptureColumns]:
        """Yield the visible captures, by column, without the hidden URLs that they name.

        The columns include all of DECIDED.
        """
        for piece in columns:
            decided = zip(*(piece[name] for name in DECIDED), strict=True)
            which = [not self._decisions.hides_values(*values) for values in decided]
            items = piece.items()
            shown: CaptureColumns = {name: list(compress(values, which)) for name, values in items}
            naming = [name for name in NAMING if name in shown]
            out = self.among({url for name in naming for url in shown[name] if url})
            for name in naming if out else ():
                shown[name] = ["" if url in out else url for url in shown[name]]
            if any(which):
                yield shown

    def keys_among(self, keys: Iterable[str]) -> set[str]:
        """Return the hidden urlkeys."""
        touched = [key for key in keys if self._decisions.touches(key)]
        if not touched:
            return set()
        every = self._hidden_of_all(is_worth=len(touched) > _MANY)
        hidden: set[str] = set()
        for begin in range(0, len(touched), _AT_ONCE):
            hidden |= self._hidden(touched[begin : begin + _AT_ONCE], every)
        return hidden

    def _hidden_of_all(self, *, is_worth: bool) -> frozenset[str] | None:
        """Return all hidden urlkeys of captures, None if reading them is not worth it."""
        if self._all is None and not is_worth:
            return None
        mark = self._engine.capture_mark()
        with self._guard:
            if self._all is None or (self._all[0] != mark and is_worth):
                self._all = mark, frozenset(self._read_hidden())
            return self._all[1] if self._all[0] == mark else None

    def _read_hidden(self) -> set[str]:
        keys = {key for key, hidden in self._decided() if hidden}
        if keys:
            keys.difference_update(key for key, hidden in self._decided() if not hidden)
        return keys

    def _decided(self) -> Iterator[tuple[str, bool]]:
        """Yield the urlkeys of all captures, and whether each capture is hidden."""
        hides = self._decisions.hides_values
        for some in self._engine.facet_store().capture_rows():
            for row in some.rows:
                yield row[10], hides(row[10], row[1], row[2] or "", row[11], row[12], row[0])

    def _hidden(self, keys: Sequence[str], every: frozenset[str] | None) -> set[str]:
        bare = {key for key in keys if self._decisions.hides_values(key, "", "", "", "", "")}
        asked = keys if every is None else [key for key in bare if key not in every]
        captured = self._engine.statuses([key for key in asked if len(key) <= _LONGEST_KEY])
        known = self._hidden_captured(list(captured)) if every is None else every & set(keys)
        return {key for key in bare if key not in captured}.union(known)

    def _hidden_captured(self, keys: Sequence[str]) -> Iterator[str]:
        asked = [KeysAtTime((key,), _ANY_TIME) for key in keys]
        for key, near in zip(keys, self._engine.captures_near(asked, _MOST_NEAR), strict=True):
            if not all(map(self._decisions.hides, near)):
                continue
            if len(near) < _MOST_NEAR or all(
                map(self._decisions.hides, self._engine.captures(key))
            ):
                yield key


def key_of(url: str) -> str:
    """Return the urlkey of a URL, "" for an invalid one."""
    try:
        return urlkey(url)
    except UrlError:
        return ""


_WORDS = {
    Action.BLOCK: ErrorText("it is blocked"),
    Action.EMBARGO: ErrorText("it is under embargo"),
    Action.LOCAL: ErrorText("it can be seen only at certain places, such as the reading room"),
}


class HiddenError(NwxError):
    """The error for archived captures that may not be shown to the viewer.

    `action` is block, embargo or local, `reason` the public reason of the rule. `until` (14 digits)
    is the end of the embargo, "" without one or if it ends `years` after the capture.
    """

    def __init__(
        self, action: Action, reason: str = "", until: str = "", years: int | None = None
    ) -> None:
        super().__init__(_message(action, reason, until, years))
        self.action, self.reason, self.until, self.years = action, reason, until, years

    @classmethod
    def from_decision(cls, decision: Decision) -> Self:
        """Return the error for a decision about a capture."""
        rule = decision.rule
        if rule is None:
            return cls(decision.action)
        return cls(decision.action, rule.reason, rule.until, rule.years)


def _message(action: Action, reason: str, until: str, years: int | None) -> ErrorText:
    words = ErrorText(
        "this is in the archive, but may not be shown: %(why)s", why=_why(action, until, years)
    )
    return ErrorText("%(words)s (%(reason)s)", words=words, reason=reason) if reason else words


def _why(action: Action, until: str, years: int | None) -> ErrorText:
    why = _WORDS.get(action, ErrorText(action))
    if until:
        date = f"{until[:4]}-{until[4:6]}-{until[6:8]}"
        return ErrorText("%(why)s until %(date)s", why=why, date=date)
    if years:
        return ErrorText(
            "%(why)s until %(years)s years after it was captured", why=why, years=years
        )
    return why
