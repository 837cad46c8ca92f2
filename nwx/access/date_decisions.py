"""Which dates of documents a viewer may see."""

from collections.abc import Iterator, Mapping
from functools import lru_cache

from nwx.engine.access.decisions import ALLOWED, Decision, Decisions
from nwx.engine.access.rules import Action
from nwx.engine.base import Engine
from nwx.errors import UrlError
from nwx.keys import holds
from nwx.model import Capture, Dates
from nwx.query.hidden import SeenDate
from nwx.values.urlkeys import urlkey

_KEYS_KEPT = 4_096


class DateDecisions:
    """The dates of documents, told apart by what rules say of the captures of each.

    Where captures of a date are known, it is visible when one of them is;
    else what rules say of its URL, digest, collection and time counts.
    """

    def __init__(self, engine: Engine, decisions: Decisions) -> None:
        self._engine = engine
        self._decisions = decisions
        self._by_file = any(one.rule.scope.source_file for one in decisions.timed)

    def of(self, found: Mapping[str, Dates]) -> dict[str, Dates]:
        """Return dates by document id without those that are hidden; ids without any are left out.

        A document whose key has no dates at all is left out too.
        """
        visible = {}
        for id, dates in found.items():
            hidden = self.hidden(id, dates)
            seen = tuple(one for one in dates.seen if one not in hidden) if hidden else dates.seen
            if seen:
                visible[id] = dates if seen is dates.seen else Dates(dates.key, seen)
        return visible

    def hidden(self, id: str, dates: Dates) -> frozenset[SeenDate]:
        """Return those of the dates of a document that are hidden."""
        url, digest = key_parts(dates.key)
        key = _urlkey(url)
        if not self._decisions.touches(key):
            return frozenset()
        states = self._captured(id, key) if self._by_file else {}
        hides = self._decisions.hides_values
        return frozenset(
            (timestamp, collection)
            for timestamp, collection in dates.seen
            if (
                not states[timestamp, collection]
                if (timestamp, collection) in states
                else hides(key, url, digest, collection, "", timestamp)
            )
        )

    def decision(self, id: str, dates: Dates) -> Decision:
        """Return what holds for a document: of what hides its captures, what says most.

        That is `allow` where one of its dates is visible, `exclude` only
        where that holds for all of them.
        """
        if len(self.hidden(id, dates)) < len(dates.seen):
            return ALLOWED
        said = list(self._decisions_of(id, dates))
        told = [one for one in said if one.action is not Action.EXCLUDE]
        return (told or said or [ALLOWED])[0]

    def _decisions_of(self, id: str, dates: Dates) -> Iterator[Decision]:
        url, digest = key_parts(dates.key)
        key = _urlkey(url)
        captures = [one for one in self._engine.captures(key) if holds(one, id)]
        yield from map(self._decisions.decide, captures)
        known = {(one.timestamp, one.collection) for one in captures}
        for timestamp, collection in dates.seen:
            if (timestamp, collection) not in known:
                yield self._decisions.decide(_subject(key, url, digest, collection, timestamp))

    def _captured(self, id: str, key: str) -> dict[SeenDate, bool]:
        """Tell of each date of a document that has captures whether one of them is visible."""
        states: dict[SeenDate, bool] = {}
        for capture in self._engine.captures(key):
            if holds(capture, id):
                date = capture.timestamp, capture.collection
                states[date] = states.get(date, False) or not self._decisions.hides(capture)
        return states


def key_parts(key: str) -> tuple[str, str]:
    """Return the URL and the digest of a document key."""
    url, _, rest = key.partition(" ")
    return url, rest.partition(" ")[0]


@lru_cache(_KEYS_KEPT)
def _urlkey(url: str) -> str:
    try:
        return urlkey(url)
    except UrlError:
        return url


def _subject(key: str, url: str, digest: str, collection: str, timestamp: str) -> Capture:
    return Capture(
        collection=collection,
        source_file="",
        source_file_offset=0,
        record_length=None,
        record_type="response",
        url=url,
        urlkey=key,
        host="",
        domain="",
        public_suffix="",
        timestamp=timestamp,
        digest=digest,
        document_id="",
        status_code=None,
        content_type="",
        content_type_norm="",
        content_length=None,
    )
