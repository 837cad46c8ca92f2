"""Engine interface for quality: playback scores of captures, reviews, states of monitors."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from enum import StrEnum
from typing import Any, NamedTuple

import msgspec

from nwx.bulk.progress import batches
from nwx.engine.base import Engine
from nwx.engine.entries import IndexEntry, clean_text
from nwx.engine.indices.declarations import INDICES
from nwx.engine.indices.entry_store import EntryFilter, EntryIndex
from nwx.model import IndexName, RenderPlace

HOSTS_COUNTED = 100
"""The number of hosts counted in totals: those with the most pages."""


class Fault(NamedTuple):
    """A fault of a page in playback; `kind` is one of FaultKind.

    `resource` is the URL concerned and `status` the status of its response; `detail` describes the
    fault in words.
    """

    kind: str
    resource: str = ""
    status: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PlaybackScore:
    """Playback quality of the capture of a page; `id` is its `nwx.keys.capture_id`.

    `score` is 0 to 1, lowest for the worst pages. `checked` is a timestamp, `rules` the version of
    the rules used for the check. `screenshot`, `structure` and `text` are 0 to 1, None without
    anything to compare with. Resources of the page are counted as in `nwx.model.Comparison`;
    `worst_seconds` and `mean_seconds` are the time differences between their captures and the
    page's. `faults` are some of `faults_total`. `crawl_view` and `playback_view` are the locations
    of the screenshots. `resources` are urlkeys of missing resources. `verdict` and `note` are from
    reviews, stored in another index.
    """

    id: str
    collection: str
    url: str
    urlkey: str
    host: str
    domain: str
    timestamp: str
    checked: str
    rules: str
    score: float
    screenshot: float | None = None
    structure: float | None = None
    text: float | None = None
    crawl_good: int | None = None
    crawl_bad: int | None = None
    replay_good: int | None = None
    replay_bad: int | None = None
    worst_seconds: int | None = None
    mean_seconds: int | None = None
    faults: tuple[Fault, ...] = ()
    faults_total: int = 0
    crawl_view: RenderPlace | None = None
    playback_view: RenderPlace | None = None
    resources: tuple[str, ...] = ()
    verdict: str = ""
    note: str = ""


class QualityOrder(StrEnum):
    """Orders of scores: lowest first, or last checked first; ties by id."""

    WORST = "worst"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class QualityFilter:
    """Filter of scores: all fields other than "" must match.

    `month` (YYYYMM) is the month of the capture. `kind` selects pages with a fault of this kind.
    """

    collection: str = ""
    host: str = ""
    domain: str = ""
    month: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True, order=True)
class QualityGroup:
    """The number of pages with some value, and their mean score."""

    value: str
    pages: int
    mean_score: float


@dataclass(frozen=True, slots=True)
class QualityTotals:
    """Counts of the pages that match a filter; `mean_score` is None without pages.

    A page is counted once in `kinds` for each kind of its faults. Kinds, hosts and collections are
    sorted by frequency, highest first, ties by value; months are chronological. `hosts` has at most
    HOSTS_COUNTED.
    """

    pages: int = 0
    mean_score: float | None = None
    kinds: tuple[QualityGroup, ...] = ()
    months: tuple[QualityGroup, ...] = ()
    hosts: tuple[QualityGroup, ...] = ()
    collections: tuple[QualityGroup, ...] = ()


EVERY_SCORE = QualityFilter()


MOST_FAULTS = 500
"""The most faults kept for a page."""

MOST_MISSING_KEPT = 1_000
"""The most urlkeys of missing resources kept for a page."""

_DETAIL_CHARACTERS = 2_000
_URL_CHARACTERS = 8_000
_VIEWS = ("crawl_view", "playback_view")
_NAMES = tuple(field.name for field in fields(PlaybackScore))
_ABSENT = {field.name: "" for field in fields(PlaybackScore) if field.default is MISSING}


def quality_entry(score: PlaybackScore) -> IndexEntry:
    """Return a score as an entry.

    At most MOST_FAULTS faults and MOST_MISSING_KEPT resources are kept; the first fault of each
    kind always is. Urlkeys too long for an index are left out.
    """
    values = {name: getattr(score, name) for name in _NAMES}
    missing = [key for key in map(clean_text, score.resources) if 0 < len(key) <= _URL_CHARACTERS]
    entry: IndexEntry = {
        **{name: clean_text(one) if isinstance(one, str) else one for name, one in values.items()},
        "month": month_of(score),
        "kinds": kinds_of(score),
        "faults": [_fault_entry(fault) for fault in _kept(score.faults)],
        "faults_total": max(score.faults_total, len(score.faults)),
        **{name: place._asdict() for name in _VIEWS if (place := values[name])},
        "resources": missing[:MOST_MISSING_KEPT],
    }
    kept = {name: value for name, value in entry.items() if value not in (None, "", [])}
    return {name: value for name, value in kept.items() if name not in ("verdict", "note")}


def quality_from_entry(entry: Mapping[str, Any]) -> PlaybackScore:
    """Return the score of an entry."""
    views = {name: RenderPlace(**entry[name]) for name in _VIEWS if name in entry}
    faults = [Fault(**fault) for fault in entry.get("faults", ())]
    return msgspec.convert(_ABSENT | dict(entry) | views | {"faults": faults}, PlaybackScore)


def month_of(score: PlaybackScore) -> str:
    """Return the month of the capture, YYYYMM."""
    return score.timestamp[:6]


def kinds_of(score: PlaybackScore) -> list[str]:
    """Return the kinds of fault that a page has, in order."""
    return sorted({fault.kind for fault in score.faults})


def _kept(faults: tuple[Fault, ...]) -> Iterable[Fault]:
    if len(faults) <= MOST_FAULTS:
        return faults
    firsts = {fault.kind: number for number, fault in reversed(list(enumerate(faults)))}.values()
    others = sorted(set(range(len(faults))) - set(firsts))
    chosen = sorted([*firsts, *others][:MOST_FAULTS])
    return [faults[number] for number in chosen]


def _fault_entry(fault: Fault) -> IndexEntry:
    found = {
        "kind": fault.kind,
        "resource": clean_text(fault.resource[:_URL_CHARACTERS]),
        "status": fault.status,
        "detail": clean_text(fault.detail[:_DETAIL_CHARACTERS]),
    }
    return {name: value for name, value in found.items() if value not in (None, "")}


_ORDERS = dict(zip(QualityOrder, INDICES[IndexName.QUALITY].fields.orders, strict=True))
_MOST_VALUES = 10_000
_COUNTED = {
    "kinds": _MOST_VALUES,
    "month": _MOST_VALUES,
    "host": HOSTS_COUNTED,
    "collection": _MOST_VALUES,
}


class QualityIndex(EntryIndex):
    """The index quality of an engine; it may be written to during an import.

    Writes are visible at once.
    """

    def put(self, scores: Sequence[PlaybackScore]) -> None:
        """Store scores, replacing any earlier score of the same capture."""
        self._store.put([quality_entry(score) for score in scores])

    def remove(self, ids: Collection[str]) -> int:
        """Remove the scores of captures; return the number removed."""
        return self._store.delete(ids)

    def score(self, id: str) -> PlaybackScore | None:
        """Return the score of a capture."""
        return self.scores_of([id]).get(id)

    def scores_of(self, ids: Collection[str]) -> dict[str, PlaybackScore]:
        """Return the scores of the captures that have one."""
        return {id: quality_from_entry(entry) for id, entry in self._store.get(ids).items()}

    def scores(
        self,
        wanted: QualityFilter,
        limit: int,
        offset: int = 0,
        order: str = QualityOrder.WORST,
    ) -> list[PlaybackScore]:
        """Return scores, by default the worst first."""
        found = self._store.find(_where(wanted), _ORDERS[QualityOrder(order)], limit, offset)
        return list(map(quality_from_entry, found))

    def scan(
        self, wanted: QualityFilter = EVERY_SCORE, order: str = QualityOrder.WORST
    ) -> Iterator[PlaybackScore]:
        """Yield all matching scores, by default the worst first."""
        found = self._store.find(_where(wanted), _ORDERS[QualityOrder(order)])
        return map(quality_from_entry, found)

    def checked(self, ids: Collection[str], rules: str) -> set[str]:
        """Return the ids of the captures with a score by this version of the rules."""
        found = self._store.get(ids, ("rules",))
        return {id for id, entry in found.items() if entry.get("rules", "") == rules}

    def totals(self, wanted: QualityFilter = EVERY_SCORE) -> QualityTotals:
        """Count the matching pages."""
        found = self._store.totals(_where(wanted), _COUNTED, "score")
        groups = {
            name: tuple(QualityGroup(*one) for one in counted)
            for name, counted in found.groups.items()
        }
        return QualityTotals(
            found.entries,
            found.mean,
            kinds=groups["kinds"],
            months=tuple(sorted(groups["month"])),
            hosts=groups["host"],
            collections=groups["collection"],
        )


def _where(wanted: QualityFilter) -> EntryFilter:
    found = {name: getattr(wanted, name) for name in ("collection", "host", "domain", "month")}
    return {name: value for name, value in (found | {"kinds": wanted.kind}).items() if value}


MOST_NOTE = 4_000
_AT_ONCE = 200
_WORST, _NEWEST = INDICES[IndexName.REVIEWS].fields.orders


class ReviewVerdict(StrEnum):
    """A person's judgement of the capture of a page, the worst first."""

    BAD = "bad"
    USABLE = "usable"
    GOOD = "good"


_VALUES = {ReviewVerdict.BAD: 0.0, ReviewVerdict.USABLE: 0.5, ReviewVerdict.GOOD: 1.0}


@dataclass(frozen=True, slots=True)
class Review:
    """A person's verdict on the capture of a page; each reviewer has one per capture.

    `capture` is its `nwx.keys.capture_id`. `marked` is a part of its screenshot: left, top, width
    and height in percent, separated by commas. `reviewed` is a timestamp.
    """

    capture: str
    reviewer: str
    verdict: str
    url: str
    urlkey: str
    host: str
    collection: str
    timestamp: str
    reviewed: str
    note: str = ""
    marked: str = ""


@dataclass(frozen=True, slots=True)
class ReviewCounts:
    """The number of reviews of a collection by verdict; `crawls` are the crawls stored in it."""

    collection: str
    good: int = 0
    usable: int = 0
    bad: int = 0
    crawls: tuple[str, ...] = ()


_REVIEW_NAMES = tuple(field.name for field in fields(Review))


class ReviewIndex(EntryIndex):
    """The index reviews of an engine; writes are visible at once."""

    def put(self, review: Review) -> None:
        """Store a review, replacing an earlier one of its reviewer."""
        entry: IndexEntry = {name: clean_text(text) for name, text in asdict(review).items()}
        id, value = (
            f"{review.capture} {clean_text(review.reviewer)}",
            _VALUES[ReviewVerdict(review.verdict)],
        )
        self._store.put([{"id": id, "value": value, **{n: v for n, v in entry.items() if v}}])

    def remove(self, captures: Collection[str]) -> int:
        """Remove the reviews of captures; return the number removed."""
        found = (one["id"] for one in self._entries_of(captures))
        return self._store.delete(list(found))

    def reviews(
        self, collection: str = "", reviewer: str = "", verdict: str = "", *, newest: bool = False
    ) -> Iterator[Review]:
        """Yield reviews, the worst first, or the newest first."""
        given = {"collection": collection, "reviewer": reviewer, "verdict": verdict}
        where = {name: value for name, value in given.items() if value}
        found = self._store.find(where, _NEWEST if newest else _WORST)
        return map(review_from_entry, found)

    def of_captures(self, captures: Collection[str]) -> dict[str, list[Review]]:
        """Return the reviews of captures by capture, the worst first."""
        found: dict[str, list[Review]] = {}
        for entry in self._entries_of(captures):
            found.setdefault(entry["capture"], []).append(review_from_entry(entry))
        return found

    def counts(self) -> list[ReviewCounts]:
        """Count reviews by collection and verdict."""
        counted: dict[str, dict[str, int]] = {}
        for verdict in ReviewVerdict:
            where: EntryFilter = {"verdict": verdict.value}
            totals = self._store.totals(where, {"collection": 10_000}, "value")
            for group in totals.groups["collection"]:
                counted.setdefault(group.value, {})[verdict.value] = group.entries
        return [
            ReviewCounts(name, found.get("good", 0), found.get("usable", 0), found.get("bad", 0))
            for name, found in sorted(counted.items())
        ]

    def judged(self, scores: Iterable[PlaybackScore]) -> Iterator[PlaybackScore]:
        """Yield scores, adding the worst verdict and the notes for reviewed captures."""
        for some in batches(scores, _AT_ONCE):
            known = self.of_captures([one.id for one in some])
            for one in some:
                own = known.get(one.id, ())
                notes = "; ".join(each.note for each in own if each.note)
                yield replace(one, verdict=own[0].verdict, note=notes) if own else one

    def _entries_of(self, captures: Collection[str]) -> Iterator[IndexEntry]:
        wanted = list(captures)
        for start in range(0, len(wanted), _AT_ONCE):
            some = tuple(wanted[start : start + _AT_ONCE])
            yield from self._store.find({"capture": some}, _WORST)


def review_from_entry(entry: Mapping[str, object]) -> Review:
    """Return the review of an entry."""
    return Review(**{name: str(entry.get(name, "")) for name in _REVIEW_NAMES})


def review_index(engine: Engine) -> ReviewIndex:
    """Return the index of reviews of an engine."""
    return ReviewIndex(engine.entry_store(IndexName.REVIEWS))
