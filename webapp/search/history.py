"""The captures of a URL over time: by year as bars, and by day as a calendar."""

import calendar
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from nwx.keys import capture_key
from nwx.model import Capture, Dates
from webapp.site.preferences import page_locale

FILL_SPAN = 60
MOST_BARS = 80
LABELS = 12


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a year with its count; `height` is 0 to 100, `labelled` if its label has room."""

    label: str
    count: int
    height: int
    labelled: bool
    address: str
    chosen: bool


def year_bars(
    counts: Mapping[str, int], address: Callable[[str], str], chosen: Sequence[str] = ()
) -> list[Bar]:
    """Return a bar for each year, including empty years in between.

    Damaged records have years such as 0201 or 9999: if the years span
    FILL_SPAN or more, gaps are left out and the latest MOST_BARS shown.
    """
    years = _years(counts)
    highest = max(counts.values(), default=0)
    step = ceil(len(years) / LABELS) or 1
    return [
        Bar(
            label=year,
            count=counts.get(year, 0),
            height=_height(counts.get(year, 0), highest),
            labelled=(len(years) - 1 - index) % step == 0,
            address=address(year),
            chosen=year in chosen,
        )
        for index, year in enumerate(years)
    ]


def _years(counts: Mapping[str, int]) -> list[str]:
    numbers = sorted(int(year) for year in counts if year.isascii() and year.isdigit())
    if not numbers:
        return []
    if numbers[-1] - numbers[0] < FILL_SPAN:
        numbers = list(range(numbers[0], numbers[-1] + 1))
    return [f"{year:04}" for year in numbers[-MOST_BARS:]]


def _height(count: int, highest: int) -> int:
    """Return a height from 0 to 100; nonzero counts are always visible."""
    return max(4, round(100 * count / highest)) if count else 0


MOST_MOMENTS = 5_000
MOST_VERSIONS = 500
MOST_PLACES = 500


@dataclass(frozen=True, slots=True)
class Moment:
    """A capture of a URL in the calendar; `own` if it is of the document in question."""

    timestamp: str
    url: str
    own: bool
    status_code: int | None = None
    record_type: str = ""


@dataclass(slots=True)
class HistoryVersion:
    """A version of a URL: its document, first and last capture, and number of captures."""

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
    document. `moments` are the captures of one year, `places` the captures
    whose records hold the document. The lists are cut at their limits, the
    counts are not.
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
        """The number of captures."""
        return self.days.total()

    @property
    def years(self) -> Counter[str]:
        """The number of captures by year (4 digits)."""
        years: Counter[str] = Counter()
        for day, count in self.days.items():
            years[day[:4]] += count
        return years


def read_history(document_id: str, dates: Dates, captures: Iterable[Capture], year: str) -> History:
    """Return the history of a document's URL.

    `dates` are all dates of the document: dates without a capture (records
    excluded from import) become moments too.
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


HEAT_STEPS = (1, 2, 5, 10)
MOST_MOMENTS_A_DAY = 200


@dataclass(frozen=True, slots=True)
class Day:
    """A day in the calendar: `heat` from 0 to 4; `own` if the document was captured.

    `changed` is the share of the page that changed on that day, None if unknown.
    """

    number: int
    key: str
    count: int
    heat: int
    own: bool
    moments: tuple[Moment, ...]
    changed: float | None = None


@dataclass(frozen=True, slots=True)
class Month:
    """A month; weeks begin on Monday, None stands for days of other months."""

    name: str
    count: int
    weeks: tuple[tuple[Day | None, ...], ...]


CHANGE_STEPS = (0.001, 0.05, 0.2, 0.5)


def months_of(history: History, changes: Mapping[str, float] | None = None) -> list[Month]:
    """Return the twelve months of the history's year.

    Days are coloured by their number of captures, or by `changes`.
    """
    by_day: defaultdict[str, list[Moment]] = defaultdict(list)
    for moment in history.moments:
        by_day[moment.timestamp[:8]].append(moment)
    counts: Counter[int] = Counter()
    for day, count in history.days.items():
        if day.startswith(history.year):
            counts[int(day[4:6])] += count
    names = page_locale().months["stand-alone"]["wide"]
    return [
        Month(names[month], counts[month], tuple(_weeks(history, by_day, month, changes)))
        for month in range(1, 13)
    ]


def weekdays() -> list[tuple[str, str]]:
    """Return the names of weekdays in the language of the page, abbreviated and as letters."""
    names = page_locale().days["stand-alone"]
    return [(names["abbreviated"][day], names["narrow"][day]) for day in range(7)]


def busy_days(months: Sequence[Month]) -> list[Day]:
    """Return the days with several captures, whose times the page lists below the calendar."""
    days = (day for month in months for week in month.weeks for day in week)
    return [day for day in days if day and day.count > 1]


def _weeks(
    history: History,
    by_day: dict[str, list[Moment]],
    month: int,
    changes: Mapping[str, float] | None,
) -> list[tuple[Day | None, ...]]:
    year = int(history.year)
    # The calendar module supports the years 1 to 9999; damaged dates may have 0.
    weeks = calendar.Calendar().monthdayscalendar(max(year, 1), month)
    return [
        tuple(_day(history, by_day, f"{year:04}{month:02}{day:02}", day, changes) for day in week)
        for week in weeks
    ]


def _day(
    history: History,
    by_day: dict[str, list[Moment]],
    key: str,
    number: int,
    changes: Mapping[str, float] | None,
) -> Day | None:
    if not number:
        return None
    count = history.days.get(key, 0)
    return Day(
        number=number,
        key=key,
        count=count,
        heat=sum(count >= step for step in HEAT_STEPS)
        if changes is None
        else sum(changes.get(key, 0.0) >= step for step in CHANGE_STEPS),
        changed=None if changes is None else changes.get(key),
        own=key in history.own_days,
        moments=tuple(by_day.get(key, ())[:MOST_MOMENTS_A_DAY]),
    )
