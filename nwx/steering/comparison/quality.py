"""Comparison of the playback quality of two collections."""

import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop
from itertools import chain, groupby
from pathlib import Path
from typing import NamedTuple

import msgspec

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.sorted_runs import ExternalSort
from nwx.engine.base import Engine
from nwx.engine.document_index import current_work
from nwx.engine.indices.quality_index import PlaybackScore, QualityFilter
from nwx.steering.comparison.counts import Overlap

QUALITY_BINS = 10
CHANGES_LISTED = 20
LEAST_CHANGE = 0.01
"""Scores that differ by less count as the same."""


@dataclass(slots=True)
class QualityCounts:
    """The playback scores of the checked captures of a collection.

    `distribution` counts captures by score: [0, 0.1), [0.1, 0.2), …, [0.9, 1]. `faults` counts
    captures by kind of fault. `missing` is the sum of missing resources over captures;
    `missing_resources` are distinct.
    """

    pages: int = 0
    total: float = 0.0
    distribution: list[int] = field(default_factory=lambda: [0] * QUALITY_BINS)
    faults: Counter[str] = field(default_factory=Counter)
    missing: int = 0
    missing_resources: int = 0

    @property
    def mean(self) -> float | None:
        """The mean of the scores, None without captures."""
        return self.total / self.pages if self.pages else None

    def add(self, score: PlaybackScore) -> None:
        """Count a capture."""
        self.pages += 1
        self.total += score.score
        self.distribution[min(int(score.score * QUALITY_BINS), QUALITY_BINS - 1)] += 1
        self.faults.update({fault.kind for fault in score.faults})
        self.missing += len(score.resources)


@dataclass(frozen=True, slots=True)
class PageChange:
    """A page that was checked in both collections: its newest captures there, and their scores."""

    url: str
    timestamp_a: str
    timestamp_b: str
    score_a: float
    score_b: float

    @property
    def change(self) -> float:
        """The score in B minus the score in A."""
        return self.score_b - self.score_a


@dataclass(slots=True)
class QualityChanges:
    """Pages (by urlkey) checked in both collections, by their newest captures in each.

    `worse` and `better` are from A to B. `worst` and `best` list the pages that changed most, at
    most CHANGES_LISTED. `missing` are missing resources.
    """

    both: int = 0
    worse: int = 0
    better: int = 0
    total: float = 0.0
    worst: list[PageChange] = field(default_factory=list)
    best: list[PageChange] = field(default_factory=list)
    missing: Overlap = field(default_factory=Overlap)

    @property
    def same(self) -> int:
        """The pages that are neither worse nor better."""
        return self.both - self.worse - self.better

    @property
    def mean(self) -> float | None:
        """The mean change, None without pages."""
        return self.total / self.both if self.both else None


_HELD_BYTES = 64 << 20
_SHOWN_EVERY = 1_024
_SEPARATOR = b"\t"


@dataclass(frozen=True, slots=True)
class QualityComparison:
    """The quality of each collection, and the changes from A to B (None for one collection)."""

    sides: tuple[QualityCounts, ...]
    changes: QualityChanges | None


class _Checked(NamedTuple):
    """The score of a capture; `side` is the number of its collection."""

    timestamp: str
    side: int
    score: float
    url: str


def compare_quality(
    engine: Engine, names: Sequence[str], progress: ShowProgress = no_progress
) -> QualityComparison | None:
    """Return the quality of one or two collections, None if none of their captures was checked."""
    sides = tuple(QualityCounts() for _ in names)
    with tempfile.TemporaryDirectory(prefix="nwx-compare-") as folder:
        pages = ExternalSort(Path(folder), _HELD_BYTES, "pages")
        missing = ExternalSort(Path(folder), _HELD_BYTES, "missing")
        for number, score in _scores(engine, names, progress):
            sides[number].add(score)
            pages.add([_page_line(number, score)])
            missing.add([_missing_line(number, key) for key in score.resources])
        if not any(side.pages for side in sides):
            return None
        changes = QualityChanges()
        for _, lines in groupby(chain.from_iterable(missing.batches()), key=_line_key):
            held = {line[-1] - ord("0") for line in lines}
            for number in held:
                sides[number].missing_resources += 1
            changes.missing.add(0 in held, 1 in held, len(held) > 1)
        if len(sides) > 1:
            _compare_pages(changes, chain.from_iterable(pages.batches()))
    return QualityComparison(sides, changes if len(sides) > 1 else None)


def _scores(
    engine: Engine, names: Sequence[str], progress: ShowProgress
) -> Iterator[tuple[int, PlaybackScore]]:
    index, work, seen = engine.quality_index(), current_work(), 0
    for number, name in enumerate(names):
        for score in index.scan(QualityFilter(collection=name)):
            if seen % _SHOWN_EVERY == 0:
                work.check()
                progress(WorkProgress("comparing checks", seen))
            seen += 1
            yield number, score


def _page_line(number: int, score: PlaybackScore) -> bytes:
    value = msgspec.json.encode(_Checked(score.timestamp, number, score.score, score.url))
    return _key_bytes(score.urlkey) + _SEPARATOR + value


def _missing_line(number: int, key: str) -> bytes:
    return _key_bytes(key) + _SEPARATOR + str(number).encode()


def _key_bytes(key: str) -> bytes:
    """Return a urlkey as the start of a line; JSON strings have no raw newline or tab."""
    return msgspec.json.encode(key)


def _line_key(line: bytes) -> bytes:
    return line.partition(_SEPARATOR)[0]


class _Changed(NamedTuple):
    """A page that sorts by the size of its change, so that the heap drops the smallest."""

    size: float
    place: int
    page: PageChange


def _compare_pages(changes: QualityChanges, lines: Iterator[bytes]) -> None:
    """Count the worse and better pages, and keep the ones that changed most."""
    worst: list[_Changed] = []
    best: list[_Changed] = []
    for place, (_, of_page) in enumerate(groupby(lines, key=_line_key)):
        newest: dict[int, _Checked] = {}
        for line in of_page:
            found = msgspec.json.decode(line.partition(_SEPARATOR)[2], type=_Checked)
            # Lines of a page are in order of time, so the newest remains.
            newest[found.side] = found
        if len(newest) < 2:
            continue
        a, b = newest[0], newest[1]
        page = PageChange(b.url, a.timestamp, b.timestamp, a.score, b.score)
        changes.both += 1
        changes.total += page.change
        if abs(page.change) < LEAST_CHANGE:
            continue
        is_worse = page.change < 0
        changes.worse += is_worse
        changes.better += not is_worse
        _keep(worst if is_worse else best, _Changed(abs(page.change), -place, page))
    changes.worst = [one.page for one in sorted(worst, reverse=True)]
    changes.best = [one.page for one in sorted(best, reverse=True)]


def _keep(heap: list[_Changed], changed: _Changed) -> None:
    if len(heap) < CHANGES_LISTED:
        heappush(heap, changed)
    else:
        heappushpop(heap, changed)
