"""Engine interface for reviews: what people found of the captures of pages."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from enum import StrEnum
from itertools import islice

from nwx.engine.base import Engine
from nwx.engine.entries import IndexEntry, clean_text
from nwx.engine.indices.declarations import INDICES
from nwx.engine.indices.entry_store import EntryFilter, EntryIndex
from nwx.engine.indices.quality_index import PlaybackScore
from nwx.model import IndexName

MOST_NOTE = 4_000
_AT_ONCE = 200
_WORST, _NEWEST = INDICES[IndexName.REVIEWS].fields.orders


class ReviewVerdict(StrEnum):
    """What a person says of the capture of a page, the worst first."""

    BAD = "bad"
    USABLE = "usable"
    GOOD = "good"


_VALUES = {ReviewVerdict.BAD: 0.0, ReviewVerdict.USABLE: 0.5, ReviewVerdict.GOOD: 1.0}


@dataclass(frozen=True, slots=True)
class Review:
    """A person's verdict on the capture of a page; each reviewer has one a capture.

    `capture` is its `nwx.keys.capture_id`. `marked` is a part of its screenshot: left, top, width
    and height in percent, apart by commas. `reviewed` is a timestamp.
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
    """The reviews of a collection by verdict."""

    collection: str
    good: int = 0
    usable: int = 0
    bad: int = 0


_NAMES = tuple(field.name for field in fields(Review))


class ReviewIndex(EntryIndex):
    """The index reviews of an engine; writes are visible at once."""

    def put(self, review: Review) -> None:
        """Store a review, in the place of an earlier one of its reviewer."""
        entry: IndexEntry = {name: clean_text(text) for name, text in asdict(review).items()}
        id, value = (
            f"{review.capture} {clean_text(review.reviewer)}",
            _VALUES[ReviewVerdict(review.verdict)],
        )
        self._store.put([{"id": id, "value": value, **{n: v for n, v in entry.items() if v}}])

    def remove(self, captures: Collection[str]) -> int:
        """Remove the reviews of captures; return how many there were."""
        found = (one["id"] for one in self._of(captures))
        return self._store.delete(list(found))

    def reviews(
        self, collection: str = "", reviewer: str = "", verdict: str = "", *, newest: bool = False
    ) -> Iterator[Review]:
        """Stream reviews, the worst first, or the newest."""
        given = {"collection": collection, "reviewer": reviewer, "verdict": verdict}
        where = {name: value for name, value in given.items() if value}
        found = self._store.find(where, _NEWEST if newest else _WORST)
        return map(review_from_entry, found)

    def of_captures(self, captures: Collection[str]) -> dict[str, list[Review]]:
        """Return the reviews of some captures, the worst first."""
        found: dict[str, list[Review]] = {}
        for entry in self._of(captures):
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
        return [ReviewCounts(name, **counts) for name, counts in sorted(counted.items())]

    def judged(self, scores: Iterable[PlaybackScore]) -> Iterator[PlaybackScore]:
        """Stream scores, those of reviewed captures with the worst verdict and the notes."""
        waiting = iter(scores)
        while some := list(islice(waiting, _AT_ONCE)):
            known = self.of_captures([one.id for one in some])
            for one in some:
                own = known.get(one.id, ())
                notes = "; ".join(each.note for each in own if each.note)
                yield replace(one, verdict=own[0].verdict, note=notes) if own else one

    def _of(self, captures: Collection[str]) -> Iterator[IndexEntry]:
        wanted = list(captures)
        for start in range(0, len(wanted), _AT_ONCE):
            some = tuple(wanted[start : start + _AT_ONCE])
            yield from self._store.find({"capture": some}, _WORST)


def review_from_entry(entry: Mapping[str, object]) -> Review:
    """Return the review of an entry."""
    return Review(**{name: str(entry.get(name, "")) for name in _NAMES})


def review_index(engine: Engine) -> ReviewIndex:
    """Return what people found of captures of pages."""
    return ReviewIndex(engine.entry_store(IndexName.REVIEWS))
