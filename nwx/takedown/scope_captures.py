"""The captures, dates and documents that an access rule is about."""

from collections.abc import Iterator
from dataclasses import dataclass

from nwx.engine.access.dated_keys import purged_seen
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.matches import reached_keys
from nwx.engine.access.rules import AccessRule, Scope
from nwx.engine.access.subjects import SUBJECT_STARTS
from nwx.engine.base import Engine
from nwx.errors import UrlError
from nwx.model import MAIN_DATES, Capture, Dates
from nwx.values.urlkeys import urlkey

_BEHIND = chr(0x10FFFF)


@dataclass(frozen=True, slots=True)
class _AnyCapture:
    """A capture of a URL that may never have been made, to be asked about."""

    urlkey: str
    url: str
    digest: str = ""
    collection: str = ""
    source_file: str = ""
    timestamp: str = ""


class ScopeCaptures:
    """What a rule is about, whatever other rules say."""

    def __init__(self, engine: Engine, rule: AccessRule) -> None:
        self._engine, self._scope = engine, rule.scope
        self._rules = AccessRules((rule,))
        self._host = _host_of(rule.scope)

    @property
    def has_whole_documents(self) -> bool:
        """Whether all captures of a document are in the scope where one is."""
        scope = self._scope
        return not (scope.collection or scope.source_file or scope.date_from or scope.date_to)

    def has(self, capture: Capture) -> bool:
        """Tell whether a capture is in the scope."""
        return self._rules.purges(capture)

    def has_url(self, url: str) -> bool:
        """Tell whether all captures of a URL are in the scope, whether there are any or not."""
        if self._scope.digest or not self.has_whole_documents:
            return False
        try:
            return self._rules.purges(_AnyCapture(urlkey(url), url))
        except UrlError:
            return False

    def captures(self) -> Iterator[Capture]:
        """Stream the captures of the scope, each once."""
        return filter(self.has, self._candidates())

    def _candidates(self) -> Iterator[Capture]:
        """Stream captures among which all those of the scope are."""
        if not self._scope.prefix or self._scope.digest:
            yield from (capture for capture, _ in self._engine.captures_since(""))
            return
        for start, end in _apart(self._spans()):
            yield from self._engine.captures(start, end)

    def _spans(self) -> Iterator[tuple[str, str]]:
        keys, starts = reached_keys(self._scope)
        for key in keys:
            yield key, f"{key}\0"
            bodies = f"{key.partition('?')[0]}?"
            yield bodies, f"{bodies}{_BEHIND}"
        for start in (*starts, *SUBJECT_STARTS):
            yield start, f"{start}{_BEHIND}"

    def dates(self, place: str = MAIN_DATES) -> Iterator[Dates]:
        """Stream the dates of the scope in an index; of a file none are known."""
        if self._scope.source_file:
            return
        for dates in self._engine.scan_dates(place):
            if self._may_be_of_host(dates.key):
                seen = purged_seen(self._rules, dates)
                if seen:
                    yield Dates(dates.key, seen)

    def _may_be_of_host(self, key: str) -> bool:
        """Tell what is quick to tell: most keys of an archive do not name the host at all."""
        return self._host in key.lower() or not key.isascii() or "%" in key


def _host_of(scope: Scope) -> str:
    """Return what all URLs of a scope contain, "" where that is not known."""
    labels = scope.prefix.partition(")")[0].partition(":")[0].strip(",").split(",")
    return ".".join(reversed(labels))


def _apart(spans: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield spans of urlkeys that do not overlap, and hold all that these do."""
    reached = ""
    for start, end in sorted(spans):
        if end > reached:
            yield max(start, reached), end
            reached = end
