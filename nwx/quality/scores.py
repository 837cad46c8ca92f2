"""Playback scores (filters, JSON, CSV), and reviews with the queue of pages to review."""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from threading import Lock
from typing import Any, NamedTuple

from nwx.bulk.progress import batches
from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.engine.indices.quality_index import (
    EVERY_SCORE,
    MOST_NOTE,
    Fault,
    PlaybackScore,
    QualityFilter,
    QualityGroup,
    QualityOrder,
    QualityTotals,
    Review,
    ReviewVerdict,
    review_index,
)
from nwx.errors import EngineError, UsageError
from nwx.keys import holds, id_of_capture
from nwx.model import Capture, Document, IndexName
from nwx.values.records import copied, csv_lines, json_array
from nwx.values.timestamps import date_bound, to_timestamp
from nwx.values.urlkeys import urlkey, with_scheme
from nwx.values.urls import host_parts, site_parts

__all__ = ["Fault", "PlaybackScore", "QualityOrder", "QualityTotals", "Review", "ReviewVerdict"]
_AT_ONCE = 200
_MOST_NEAR = 20
_MOST_CAPTURES = 1_000
PRESENCE_SECONDS = 20.0


class CaptureMark(NamedTuple):
    """The identifying values of a capture: id, urlkey, timestamp (14 digits)."""

    id: str
    urlkey: str
    timestamp: str


def marked_captures(engine: Engine, marks: Iterable[CaptureMark]) -> dict[str, Capture]:
    """Return captures by id, in the order of the marks, without deleted ones."""
    found: dict[str, Capture] = {}
    for batch in batches(marks, _AT_ONCE):
        asked = [KeysAtTime((one.urlkey,), one.timestamp) for one in batch]
        for one, near in zip(batch, engine.captures_near(asked, _MOST_NEAR), strict=True):
            capture = _with_id(near, one.id)
            if capture is None:  # too many of that second, or the urlkey is too long
                capture = _with_id(engine.captures(one.urlkey), one.id)
            if capture is not None:
                found[one.id] = capture
    return found


def _with_id(captures: Iterable[Capture], id: str) -> Capture | None:
    return next((one for one in captures if id_of_capture(one) == id), None)


_MONTH = re.compile(r"([0-9]{4})-?(0[1-9]|1[0-2])")


def of_site(site: str, host: str = "") -> QualityFilter:
    """Return the filter for pages of a registered domain with its subdomains, or of a host.

    `host` limits the pages to this host. Names may have capitals, non-ASCII letters and a final
    dot; a URL names its host.
    """
    parts = site_parts(site)
    is_domain = bool(parts.host) and parts.domain == parts.host
    only = host or ("" if is_domain else parts.host or site)
    named = host_parts(only).host or only  # an invalid host matches nothing
    return QualityFilter(host=named, domain=parts.domain if is_domain else "")


def asked_scores(
    site: str = "", host: str = "", month: str = "", kind: str = "", collection: str = ""
) -> QualityFilter:
    """Return the filter for some options; raises UsageError for an invalid month."""
    return replace(of_site(site, host), month=read_month(month), kind=kind, collection=collection)


def read_month(text: str) -> str:
    """Return a month, YYYY-MM, in the form for filters; "" is every month."""
    found = _MONTH.fullmatch(text)
    if text and not found:
        raise UsageError.translated(
            "%(text)s is not a month; write YYYY-MM, such as 2010-07", text=repr(text[:20])
        )
    return f"{found[1]}{found[2]}" if found else ""


class ScorePresence:
    """Whether an archive has playback scores; looked up at intervals until it has."""

    def __init__(self, engine: Engine) -> None:
        self._index = engine.quality_index()
        self._guard = Lock()
        self._found = False
        self._looked = -PRESENCE_SECONDS

    def __bool__(self) -> bool:
        with self._guard:
            now = time.monotonic()
            if self._found or now - self._looked < PRESENCE_SECONDS:
                return self._found
            self._looked = now
        with suppress(EngineError):  # counts as none while the engine is unavailable
            self._found = bool(self._index.scores(EVERY_SCORE, 1))
        return self._found


def checks_stamp(engine: Engine, collection: str = "") -> str:
    """Return a text that changes with checks: of all pages, or of those of a collection."""
    wanted, index = QualityFilter(collection=collection), engine.quality_index()
    last = [(one.id, one.checked) for one in index.scores(wanted, 1, order=QualityOrder.NEWEST)]
    # Of many checks in the same second, the last by id may stay the same.
    return repr((last, index.totals(wanted) if last else None))


def document_score(engine: Engine, document: Document, document_id: str) -> PlaybackScore | None:
    """Return the score of the latest checked capture of a document, None if none was checked."""
    captures = islice(engine.captures(document.capture.urlkey), _MOST_CAPTURES)
    ids = [id_of_capture(one) for one in captures if holds(one, document_id)]
    found = engine.quality_index().scores_of(ids).values()
    return max(found, key=lambda one: (one.timestamp, one.id), default=None)


SCORE_COLUMNS = (
    "score",
    "url",
    "timestamp",
    "collection",
    "screenshot",
    "structure",
    "text",
    "crawl_good",
    "crawl_bad",
    "replay_good",
    "replay_bad",
    "worst_seconds",
    "mean_seconds",
    "faults",
    "kinds",
    "checked",
    "verdict",
    "note",
    "id",
)
"""The columns of a list of scores as CSV; `kinds` are separated by blanks."""


@dataclass(frozen=True, slots=True)
class FaultAnswer:
    """A fault of a page in playback: its kind, the affected resource, the response."""

    kind: str
    resource: str
    status: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class PlaybackScoreAnswer:
    """The playback score of a capture, 0 (worst) to 1 (best), and its measures, null if unknown.

    `id` is the capture's. The resource counts are the page's successful and failed requests, in the
    crawl and in playback; `worst_seconds` and `mean_seconds` are the distances of their captures
    from the page. `faults` lists some of `faults_total`. `verdict` is the worst of its reviews, ""
    without any, `note` their notes.
    """

    id: str
    collection: str
    url: str
    timestamp: str
    checked: str
    score: float
    screenshot: float | None
    structure: float | None
    text: float | None
    crawl_good: int | None
    crawl_bad: int | None
    replay_good: int | None
    replay_bad: int | None
    worst_seconds: int | None
    mean_seconds: int | None
    faults_total: int
    faults: tuple[FaultAnswer, ...]
    verdict: str
    note: str


@dataclass(frozen=True, slots=True)
class QualityAnswer:
    """Totals of the matching pages, and a part of their list.

    `kinds` counts pages by kind of fault: a page may have several.
    """

    pages: int
    mean_score: float | None
    kinds: tuple[QualityGroup, ...]
    months: tuple[QualityGroup, ...]
    hosts: tuple[QualityGroup, ...]
    collections: tuple[QualityGroup, ...]
    scores: tuple[PlaybackScoreAnswer, ...]


def score_answer(score: PlaybackScore) -> PlaybackScoreAnswer:
    """Return a score for the API, without the places of files, which stay private."""
    faults = tuple(FaultAnswer(*fault) for fault in score.faults)
    return copied(PlaybackScoreAnswer, score, faults=faults)


def quality_answer(totals: QualityTotals, scores: Iterable[PlaybackScore]) -> QualityAnswer:
    """Return totals and scores for the API."""
    return copied(QualityAnswer, totals, scores=tuple(map(score_answer, scores)))


def csv_of_scores(scores: Iterable[PlaybackScore]) -> Iterator[str]:
    """Yield scores as lines of CSV, the first with SCORE_COLUMNS."""
    return csv_lines(SCORE_COLUMNS, _score_rows(scores))


def _score_rows(scores: Iterable[PlaybackScore]) -> Iterator[list[object]]:
    for score in scores:
        cells: dict[str, object] = {
            name: getattr(score, name, "") for name in SCORE_COLUMNS if name != "kinds"
        }
        kinds = sorted({fault.kind for fault in score.faults})
        cells |= {"faults": score.faults_total, "kinds": " ".join(kinds)}
        yield [cells[name] for name in SCORE_COLUMNS]


def json_of_scores(scores: Iterable[PlaybackScore]) -> Iterator[str]:
    """Yield scores as a JSON array, an object a line."""
    return json_array(map(score_answer, scores))


ScoreProblem = tuple[str, str, str]
"""The kind of problem, the id of the entry, and the message."""

_MARKS_AT_ONCE = 1_000


def check_scores(engine: Engine) -> Iterator[ScoreProblem]:
    """Yield the problems of the quality index, nothing if it is missing.

    Checks that the captures of all scores exist, and that the number of entries agrees with the
    counts of the index.
    """
    read = 0
    for batch in batches(_marks(engine.scan(IndexName.QUALITY)), _MARKS_AT_ONCE):
        read += len(batch)
        there = marked_captures(engine, batch)
        for mark in batch:
            if mark.id not in there:
                yield "uncaptured", mark.id, "the capture that it is about is missing"
    counted, found = engine.count(IndexName.QUALITY), engine.quality_index().totals().pages
    if not read == counted == found:
        yield "count", "*", f"{read} entries, {counted} counted, {found} in totals"


def _marks(entries: Iterable[Mapping[str, Any]]) -> Iterator[CaptureMark]:
    for entry in entries:
        yield CaptureMark(entry["id"], entry.get("urlkey", ""), entry.get("timestamp", ""))


_NEWEST = "99991231235959"
_PERCENT = r"(?:100(?:\.0{1,2})?|[0-9]{1,2}(?:\.[0-9]{1,2})?)"
_MARK = re.compile(f"(?:{_PERCENT},){{3}}{_PERCENT}")
_MOST_REVIEWER = 200


def made_review(
    engine: Engine, capture: str, at: str, verdict: str, note: str, marked: str, reviewer: str
) -> Review:
    """Return a review of the capture with an id, or of a URL's capture nearest to a date."""
    check_review(verdict, marked)
    of: PlaybackScore | Capture | None = engine.quality_index().score(capture)
    if of is None:
        key, moment = urlkey(with_scheme(capture)), date_bound(at, 0) if at else _NEWEST
        (near,) = engine.captures_near([KeysAtTime((key,), moment)], 1)
        if not near:
            raise UsageError.translated("there is no capture of %(url)s", url=capture[:200])
        of = near[0]
    return copied(
        Review,
        of,
        capture=of.id if isinstance(of, PlaybackScore) else id_of_capture(of),
        reviewer=reviewer.strip()[:_MOST_REVIEWER],
        verdict=verdict,
        reviewed=to_timestamp(datetime.now(UTC)),
        note=note.strip()[:MOST_NOTE],
        marked=marked,
    )


def check_review(verdict: str, marked: str = "") -> None:
    """Raise UsageError unless the verdict is known, and the mark has four numbers up to 100."""
    if verdict not in list(ReviewVerdict):
        raise UsageError.translated(
            "%(verdict)s is not a verdict; write good, usable or bad", verdict=repr(verdict[:40])
        )
    if marked and not _MARK.fullmatch(marked):
        raise UsageError.translated("a mark is left, top, width and height in percent: 10,20,30,40")


def review_queue(engine: Engine, reviewer: str, collection: str = "") -> Iterator[PlaybackScore]:
    """Yield the checked pages that a reviewer has not judged, lowest score first."""
    done = {one.capture for one in review_index(engine).reviews(reviewer=reviewer)}
    scores = engine.quality_index().scan(QualityFilter(collection=collection))
    waiting = (one for one in scores if one.id not in done)
    return review_index(engine).judged(waiting)
