"""The small entries that a viewer may see of an index, including playback scores."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nwx.access.hidden_urls import key_of
from nwx.access.restricted_captures import reading_only
from nwx.engine.capture_index import KeysAtTime
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.entry_store import (
    BY_ID,
    EVERY_ENTRY,
    Change,
    EntryFilter,
    EntryOrder,
    EntryStore,
    Totals,
    count_entries,
    matches,
)
from nwx.engine.indices.quality_index import PlaybackScore, quality_entry, quality_from_entry
from nwx.errors import NwxError, WithheldError
from nwx.keys import id_of_capture
from nwx.model import Capture, IndexStats

if TYPE_CHECKING:
    from nwx.access.restricted_engine import RestrictedEngine


_AT_ONCE = 500


class VisibleEntries(ABC):
    """The entries of an index that a viewer may see, as declared by the index.

    `restricted` is the engine as the viewer sees it.
    """

    def __init__(self, restricted: "RestrictedEngine") -> None:
        self._restricted = restricted

    @abstractmethod
    def shown(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        """Yield the visible entries, without the hidden URLs and captures that they name."""

    def stream(self, entries: Iterable[Mapping[str, Any]]) -> Iterator[IndexEntry]:
        """Yield the visible entries of an iterable, in batches of `shown`."""
        waiting = iter(entries)
        while some := [dict(entry) for entry in islice(waiting, _AT_ONCE)]:
            yield from self.shown(some)

    def refusal(self) -> NwxError:
        """Return the error for writing, which needs the whole index."""
        return reading_only()

    def withheld(self, state: str) -> NwxError | None:
        """Return the error for a state that would reveal hidden captures, None if it does not."""
        del state
        return None


class VisibleJudgements(VisibleEntries):
    """Rankings, queries to judge, and judgements of URLs that are not hidden."""

    def refusal(self) -> NwxError:
        return WithheldError.translated("only users who see the whole archive can judge results")

    def shown(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        judged = {one["url"] for one in entries if "url" in one}
        hidden = self._restricted.hidden_urls(judged)
        # A urlkey alone does not show whether each spelling of a URL may be shown.
        hidden |= {url for url in judged if "://" not in url}
        return (one for one in entries if one.get("url") not in hidden)


class VisibleWatches(VisibleJudgements):
    """The watched sites that are not hidden, without webhooks and what hidden pages may change."""

    def refusal(self) -> NwxError:
        return WithheldError.translated("only users who see the whole archive can watch sites")

    def shown(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        for one in super().shown(entries):
            yield {name: one[name] for name in one if name not in ("webhook", "told")}


class RestrictedStore(EntryStore):
    """The visible entries of another store, read-only.

    Totals are counted from the visible entries and cached until entries or captures change.
    """

    def __init__(
        self, store: EntryStore, visible: VisibleEntries, restricted: "RestrictedEngine"
    ) -> None:
        self._store = store
        self._visible = visible
        self._restricted = restricted
        self._counted: dict[object, tuple[tuple[Totals, str], Totals]] = {}

    def is_made(self) -> bool:
        return self._store.is_made()

    def put(self, entries: Sequence[IndexEntry]) -> None:
        raise self._visible.refusal()

    def update(self, ids: Collection[str], change: Change) -> Mapping[str, IndexEntry | None]:
        raise self._visible.refusal()

    def delete(self, ids: Collection[str]) -> int:
        raise self._visible.refusal()

    def put_state(self, name: str, state: bytes, *, derived: bool = False) -> None:
        raise self._visible.refusal()

    def get(self, ids: Collection[str], fields: Sequence[str] = ()) -> dict[str, IndexEntry]:
        found = self._store.get(ids)
        return {entry["id"]: entry for entry in self._visible.stream(found.values())}

    def find(
        self,
        where: EntryFilter = EVERY_ENTRY,
        order: EntryOrder = BY_ID,
        limit: int | None = None,
        offset: int = 0,
    ) -> Iterator[IndexEntry]:
        shown = self._visible.stream(self._store.find(where, order))
        # Without its hidden parts, an entry may no longer match the filter.
        found = (entry for entry in shown if matches(entry, where))
        return islice(found, offset, None if limit is None else offset + limit)

    def count(self, where: EntryFilter = EVERY_ENTRY) -> int:
        return sum(1 for _ in self.find(where))

    def totals(self, where: EntryFilter, groups: Mapping[str, int], mean: str) -> Totals:
        key = (*sorted(where.items()), *groups.items(), mean)
        stamp = self._store.totals(where, groups, mean), self._restricted.capture_mark()
        known = self._counted.get(key)
        if known is None or known[0] != stamp:
            known = self._counted[key] = stamp, count_entries(self.find(where), groups, mean)
        return known[1]

    def version(self) -> str:
        return self._store.version()

    def renew(self) -> None:
        raise self._visible.refusal()

    def state(self, name: str) -> bytes | None:
        found = self._store.state(name)
        if found is not None and (error := self._visible.withheld(name)):
            raise error
        return found

    def states(self) -> list[str]:
        return [name for name in self._store.states() if self._visible.withheld(name) is None]

    def stats(self) -> IndexStats:
        return IndexStats(self.count(), None)


class VisiblePassages(VisibleEntries):
    """The passages of visible documents."""

    def shown(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        known = self._restricted.known({one["document"] for one in entries})
        return (one for one in entries if one["document"] in known)


_PAGES_AT_ONCE = 200
_MOST_NEAR = 20
_MONITOR = "monitor:"


class _OfCapture(Protocol):
    """An entry about a capture; `id` is the capture's."""

    @property
    def id(self) -> str: ...
    @property
    def url(self) -> str: ...
    @property
    def urlkey(self) -> str: ...
    @property
    def collection(self) -> str: ...
    @property
    def timestamp(self) -> str: ...


class VisibleScores(VisibleEntries):
    """The scores of visible captures, without faults and missing resources of hidden URLs."""

    def refusal(self) -> NwxError:
        return WithheldError.translated("only users who see the whole archive can write scores")

    def withheld(self, state: str) -> NwxError | None:
        if not state.startswith(_MONITOR):
            return None
        return WithheldError.translated(
            "the totals of a monitor include captures that access rules hide; log in as a "
            "curator, or use `nwx --unrestricted`, to see them"
        )

    def shown(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        for start in range(0, len(entries), _PAGES_AT_ONCE):
            scores = list(map(quality_from_entry, entries[start : start + _PAGES_AT_ONCE]))
            hidden = self._hidden(scores)
            visible = [one for one in scores if one.id not in hidden]
            yield from map(quality_entry, self._without_hidden_resources(visible))

    def _hidden(self, scores: Sequence[_OfCapture]) -> set[str]:
        touched = [one for one in scores if self._restricted.decisions.touches(one.urlkey)]
        if not touched:
            return set()
        asked = [KeysAtTime((one.urlkey,), one.timestamp) for one in touched]
        found = self._restricted.whole.captures_near(asked, _MOST_NEAR)
        return {
            score.id for score, near in zip(touched, found, strict=True) if self._hides(score, near)
        }

    def _hides(self, score: _OfCapture, near: Sequence[Capture]) -> bool:
        for captures in (near, self._restricted.whole.captures(score.urlkey)):
            for one in captures:
                if id_of_capture(one) == score.id:
                    return self._restricted.decisions.hides(one)
        file = score.id.removeprefix(f"{score.collection}/").rpartition("@")[0]
        return self._restricted.decisions.hides_values(
            score.urlkey, score.url, "", score.collection, file, score.timestamp
        )

    def _without_hidden_resources(self, scores: Sequence[PlaybackScore]) -> Iterator[PlaybackScore]:
        named = {
            fault.resource: key_of(fault.resource)
            for one in scores
            for fault in one.faults
            if fault.resource
        }
        missing = {key for one in scores for key in one.resources}
        hidden = self._restricted.urls.keys_among(missing.union(filter(None, named.values())))
        for one in scores:
            faults = tuple(each for each in one.faults if named.get(each.resource) not in hidden)
            resources = tuple(key for key in one.resources if key not in hidden)
            left_out = len(one.faults) - len(faults)
            if left_out or len(resources) < len(one.resources):
                total = one.faults_total - left_out
                yield replace(one, faults=faults, resources=resources, faults_total=total)
            else:
                yield one


class _Reviewed(NamedTuple):
    id: str
    url: str
    urlkey: str
    collection: str
    timestamp: str


class VisibleReviews(VisibleScores):
    """The reviews of visible captures."""

    def refusal(self) -> NwxError:
        return WithheldError.translated("only users who see the whole archive can write reviews")

    def shown(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        names = ("capture", *_Reviewed._fields[1:])
        hidden = self._hidden(
            [_Reviewed(*(one.get(name, "") for name in names)) for one in entries]
        )
        return (one for one in entries if one["capture"] not in hidden)
