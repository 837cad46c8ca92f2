"""All that happened to a URL: its captures by day, its versions, the places of its records."""

import heapq
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from nwx.errors import TimestampError, UsageError
from nwx.keys import capture_key
from nwx.model import Capture, Dates
from nwx.values.timestamps import parse_timestamp

MOST_MOMENTS = 5_000
MOST_VERSIONS = 500
MOST_PLACES = 500


@dataclass(frozen=True, slots=True)
class Moment:
    """A capture of a URL in the calendar; `own` if it holds the document in question."""

    timestamp: str
    url: str
    own: bool
    status_code: int | None = None
    record_type: str = ""


@dataclass(slots=True)
class HistoryVersion:
    """A version of a URL: its document, first and last capture, and how many there are."""

    document_id: str
    url: str
    digest: str
    first: str
    last: str
    captures: int
    status_code: int | None
    content_type_norm: str


@dataclass(slots=True)
class History:
    """The history of a URL as seen from one of its documents.

    `days` counts captures by day (8 digits), `own_days` those of the
    document. `moments` are the captures of one year, `places` the records
    that hold the document. The lists are cut at their limits; the counts
    are not.
    """

    year: str
    days: Counter[str] = field(default_factory=Counter)
    own_days: Counter[str] = field(default_factory=Counter)
    moments: list[Moment] = field(default_factory=list)
    versions: dict[str, HistoryVersion] = field(default_factory=dict)
    captures_left_out: int = 0
    places: list[Capture] = field(default_factory=list)
    places_count: int = 0

    @property
    def total(self) -> int:
        """Return the number of captures."""
        return self.days.total()

    @property
    def years(self) -> Counter[str]:
        """Return the number of captures in each year."""
        years: Counter[str] = Counter()
        for day, count in self.days.items():
            years[day[:4]] += count
        return years


def read_history(document_id: str, dates: Dates, captures: Iterable[Capture], year: str) -> History:
    """Return the history of a document's URL.

    `dates` are all dates of the document: some have no capture behind them
    (records left out when they were imported), and are moments too.
    """
    history = History(year)
    pending = Counter(timestamp for timestamp, _ in dates.seen)
    for capture in captures:
        own = capture.document_id == document_id or capture_key(capture) == dates.key
        if own and pending[capture.timestamp]:
            pending[capture.timestamp] -= 1
        _add_moment(history, _moment(capture, own))
        _add_version(history, capture)
        if own:
            _add_place(history, capture)
    url = dates.key.partition(" ")[0]
    for timestamp in pending.elements():
        _add_moment(history, Moment(timestamp, url, own=True))
    history.moments.sort(key=lambda moment: moment.timestamp)
    return history


def nearest(captures: Iterable[Capture], timestamp: str, limit: int) -> list[Capture]:
    """Return the captures closest to a time, the closest first.

    Raises UsageError for what is no timestamp.
    """
    try:
        instant = parse_timestamp(timestamp)
    except TimestampError as error:
        raise UsageError(error.text) from error
    return heapq.nsmallest(
        limit, captures, key=lambda capture: abs(parse_timestamp(capture.timestamp) - instant)
    )


def _moment(capture: Capture, own: bool) -> Moment:
    return Moment(capture.timestamp, capture.url, own, capture.status_code, capture.record_type)


def _add_moment(history: History, moment: Moment) -> None:
    day = moment.timestamp[:8]
    history.days[day] += 1
    if moment.own:
        history.own_days[day] += 1
    if day.startswith(history.year) and len(history.moments) < MOST_MOMENTS:
        history.moments.append(moment)


def _add_place(history: History, capture: Capture) -> None:
    history.places_count += 1
    if len(history.places) < MOST_PLACES:
        history.places.append(capture)


def _add_version(history: History, capture: Capture) -> None:
    if not capture.document_id:
        return
    version = history.versions.get(capture.document_id)
    if version:
        version.last = max(version.last, capture.timestamp)
        version.captures += 1
    elif len(history.versions) < MOST_VERSIONS:
        history.versions[capture.document_id] = HistoryVersion(
            document_id=capture.document_id,
            url=capture.url,
            digest=capture.digest,
            first=capture.timestamp,
            last=capture.timestamp,
            captures=1,
            status_code=capture.status_code,
            content_type_norm=capture.content_type_norm,
        )
    else:
        history.captures_left_out += 1
