"""Dates as people write them, and the years and months that are counted by."""

import calendar
import re
from datetime import datetime
from enum import StrEnum
from typing import NamedTuple

from nwx.errors import TimestampError, UsageError

_DATE = re.compile(
    r"(\d{4})(?:-?(\d\d)(?:-?(\d\d)(?:[T ]?(\d\d)(?::?(\d\d)(?::?(\d\d)Z?)?)?)?)?)?", re.ASCII
)


def date_span(text: str) -> tuple[str, str]:
    """Return the first and last timestamp (14 digits) of a year, month, day, hour, …

    `text` is `2010`, `2010-03`, `2010-03-05`, `2010-03-05T12:30` or the same digits without
    separators, down to seconds. Raises TimestampError on anything else, impossible dates included.
    """
    match = _DATE.fullmatch(text.strip())
    if not match:
        raise TimestampError.translated(
            "%(text)s is no date; write 2010, 2010-03 or 2010-03-05", text=repr(text)
        )
    parts = [int(part) for part in match.groups() if part is not None]
    try:
        first = datetime(*(parts + [1, 1, 0, 0, 0][len(parts) - 1 :]))  # type: ignore[arg-type]
    except ValueError as error:
        raise TimestampError.translated(
            "%(text)s is no date: %(reason)s", text=repr(text), reason=error
        ) from error
    last_day = calendar.monthrange(parts[0], parts[1] if len(parts) > 1 else 12)[1]
    highest = [12, last_day, 23, 59, 59]
    last = parts + highest[len(parts) - 1 :]
    return f"{first:%Y%m%d%H%M%S}".rjust(14, "0"), "{:04}{:02}{:02}{:02}{:02}{:02}".format(*last)


class Period(StrEnum):
    """The unit of a trend: a month (`201301`) or a year (`2013`)."""

    MONTH = "month"
    YEAR = "year"

    @property
    def digits(self) -> int:
        """The number of digits of a timestamp that name a period."""
        return 4 if self is Period.YEAR else 6


class TrendPoint(NamedTuple):
    """How often documents were captured in a period, and how many of them were."""

    period: str
    captures: int
    documents: int


def date_bound(text: str, end: int) -> str:
    """Return the first (`end` 0) or last (1) timestamp of a date, "" for an empty text.

    Raises UsageError where `date_span` raises TimestampError.
    """
    try:
        return date_span(text)[end] if text else ""
    except TimestampError as error:
        raise UsageError(error.text) from error
