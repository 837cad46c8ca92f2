"""A year as months, weeks and days, with the captures of each day."""

import calendar
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from webapp.search.history import History, Moment
from webapp.site.reader_language import page_locale

HEAT_STEPS = (1, 2, 5, 10)
MOST_MOMENTS_A_DAY = 200


@dataclass(frozen=True, slots=True)
class Day:
    """A cell: `heat` from 0 (no capture) to 4; `own` where the document itself was captured."""

    number: int
    key: str
    count: int
    heat: int
    own: bool
    moments: tuple[Moment, ...]


@dataclass(frozen=True, slots=True)
class Month:
    """A month; its weeks begin on Monday, None stands for days of other months."""

    name: str
    count: int
    weeks: tuple[tuple[Day | None, ...], ...]


def months_of(history: History) -> list[Month]:
    """Return the twelve months of the history's year."""
    by_day: defaultdict[str, list[Moment]] = defaultdict(list)
    for moment in history.moments:
        by_day[moment.timestamp[:8]].append(moment)
    counts: Counter[int] = Counter()
    for day, count in history.days.items():
        if day.startswith(history.year):
            counts[int(day[4:6])] += count
    names = page_locale().months["stand-alone"]["wide"]
    return [
        Month(names[month], counts[month], tuple(_weeks(history, by_day, month)))
        for month in range(1, 13)
    ]


def weekdays() -> list[tuple[str, str]]:
    """Return the names of the days of a week in the language of the page, short and as letters."""
    names = page_locale().days["stand-alone"]
    return [(names["abbreviated"][day], names["narrow"][day]) for day in range(7)]


def busy_days(months: Sequence[Month]) -> list[Day]:
    """Return the days with several captures, whose times are listed below the calendar."""
    days = (day for month in months for week in month.weeks for day in week)
    return [day for day in days if day and day.count > 1]


def _weeks(
    history: History, by_day: dict[str, list[Moment]], month: int
) -> list[tuple[Day | None, ...]]:
    year = int(history.year)
    # The calendar module knows the years from 1 to 9999; damaged dates may say 0.
    weeks = calendar.Calendar().monthdayscalendar(max(year, 1), month)
    return [
        tuple(_day(history, by_day, f"{year:04}{month:02}{day:02}", day) for day in week)
        for week in weeks
    ]


def _day(history: History, by_day: dict[str, list[Moment]], key: str, number: int) -> Day | None:
    if not number:
        return None
    count = history.days.get(key, 0)
    return Day(
        number=number,
        key=key,
        count=count,
        heat=sum(count >= step for step in HEAT_STEPS),
        own=key in history.own_days,
        moments=tuple(by_day.get(key, ())[:MOST_MOMENTS_A_DAY]),
    )
