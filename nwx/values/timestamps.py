"""CDX timestamps (14 digits), WARC dates, and dates as people write them."""

import calendar
import math
import re
from datetime import UTC, date, datetime
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from nwx.errors import ErrorText, TimestampError, UsageError

_WARC_DATE = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:[.,]\d*)?[Zz]?", re.ASCII
)
# truncated dates (allowed in WARC 1.1), dates with a UTC offset or superfluous blanks
_LOOSE_DATE = re.compile(
    r"(\d{4})(?:-(\d\d?)(?:-(\d\d?)(?:[Tt ]\s*(\d\d?)(?::(\d\d?)(?::(\d\d?)(?:[.,]\d*)?)?)?)?)?)?"
    r"\s*([Zz]|UTC|GMT|[+-]\d\d:?\d\d)?",
    re.ASCII,
)
_DIGITS = re.compile(r"\d+", re.ASCII)
_LOWEST = "00000101000000"
_LONGEST_KNOWN = 32  # characters of a date
_LENGTHS = (4, 6, 8, 10, 12, 14)


def parse_timestamp(text: str) -> datetime:
    """Return the UTC instant of a CDX timestamp.

    `text` is YYYY[MM[DD[hh[mm[ss]]]]], digits only; parts left out take
    their lowest value.
    Raises TimestampError on anything else, impossible dates included.
    """
    digits = _padded(text)
    return datetime(
        int(digits[:4]),
        int(digits[4:6]),
        int(digits[6:8]),
        int(digits[8:10]),
        int(digits[10:12]),
        int(digits[12:]),
        tzinfo=UTC,
    )


def seconds_between(first: str, second: str) -> float:
    """Return the seconds between two CDX timestamps, infinity if one is invalid."""
    try:
        return abs((parse_timestamp(first) - parse_timestamp(second)).total_seconds())
    except TimestampError:
        return math.inf


def to_timestamp(instant: datetime) -> str:
    """Return the 14 digits of an instant; without a time zone, it is UTC."""
    if instant.tzinfo is not None:
        instant = instant.astimezone(UTC)
    return f"{instant.year:04}{instant:%m%d%H%M%S}"


def normal_timestamp(text: str) -> str:
    """Return 14 digits for a CDX timestamp or a WARC date.

    Accepts truncated dates (`2014-01`), fractions of a second (cut off), UTC offsets, and errors
    found in real files: a blank instead of T, no Z, one digit instead of two. Raises TimestampError
    on anything else, impossible dates included.
    """
    # cached, as crawls have many records per second
    return _known_timestamp(text) if len(text) <= _LONGEST_KNOWN else _timestamp(text)


def _timestamp(text: str) -> str:
    found = _WARC_DATE.fullmatch(text)
    if found is None:
        text = text.strip()
        return _padded(text) if _DIGITS.fullmatch(text) else _loose(text)
    digits = "".join(found.groups())
    _check(digits, text)
    return digits


_known_timestamp = lru_cache(maxsize=1024)(_timestamp)


def _padded(text: str) -> str:
    if len(text) not in _LENGTHS or not _DIGITS.fullmatch(text):
        raise TimestampError.translated(
            "%(text)s is not a timestamp; expected 4 to 14 digits YYYYMMDDhhmmss",
            text=repr(text[:40]),
        )
    digits = text + _LOWEST[len(text) :]
    _check(digits, text)
    return digits


def _loose(text: str) -> str:
    found = _LOOSE_DATE.fullmatch(text)
    if found is None:
        raise TimestampError.translated(
            "%(text)s is not a date; expected YYYY-MM-DDThh:mm:ssZ", text=repr(text[:40])
        )
    year, month, day, hour, minute, second, zone = found.groups()
    digits = (
        f"{year}{int(month or 1):02}{int(day or 1):02}"
        f"{int(hour or 0):02}{int(minute or 0):02}{int(second or 0):02}"
    )
    _check(digits, text)
    return _to_utc(digits, zone) if zone and zone[0] in "+-" else digits


def _to_utc(digits: str, zone: str) -> str:
    try:
        instant = datetime.strptime(digits + zone.replace(":", ""), "%Y%m%d%H%M%S%z")
        return to_timestamp(instant)
    except (ValueError, OverflowError) as error:
        raise TimestampError.translated(
            "%(digits)s%(zone)s has an impossible time zone", digits=digits, zone=zone
        ) from error


def _check(digits: str, text: str) -> None:
    if digits[8:10] > "23" or digits[10:12] > "59" or digits[12:] > "59":
        raise TimestampError.translated(
            "%(text)s has an impossible time of day", text=repr(text[:40])
        )
    if not _day_exists(digits[:8]):
        raise TimestampError.translated("%(text)s has an impossible date", text=repr(text[:40]))


@lru_cache(maxsize=4096)
def _day_exists(digits: str) -> bool:
    try:
        datetime(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return False
    return True


_DATE = re.compile(
    r"(\d{4})(?:-?(\d\d)(?:-?(\d\d)(?:[T ]?(\d\d)(?::?(\d\d)(?::?(\d\d)Z?)?)?)?)?)?", re.ASCII
)

_FORM = "{:04}{:02}{:02}{:02}{:02}{:02}"


def date_span(text: str) -> tuple[str, str]:
    """Return the first and last timestamp (14 digits) of a year, month, day, hour, …

    `text` is `2010`, `2010-03`, `2010-03-05`, `2010-03-05T12:30` or the same digits without
    separators, down to seconds. Raises TimestampError on anything else, impossible dates included.
    """
    match = _DATE.fullmatch(text.strip())
    if not match:
        raise TimestampError.translated(
            "%(text)s is not a date; write 2010, 2010-03 or 2010-03-05", text=repr(text)
        )
    parts = [int(part) for part in match.groups() if part is not None]
    first = _FORM.format(*parts, *(1, 1, 0, 0, 0)[len(parts) - 1 :])
    _check(first, text)
    last_day = calendar.monthrange(parts[0], parts[1] if len(parts) > 1 else 12)[1]
    highest = [12, last_day, 23, 59, 59]
    return first, _FORM.format(*parts, *highest[len(parts) - 1 :])


class Period(StrEnum):
    """The unit of a trend: a month (`201301`) or a year (`2013`)."""

    MONTH = "month"
    YEAR = "year"

    @property
    def digits(self) -> int:
        """The number of leading digits of a timestamp that identify a period."""
        return 4 if self is Period.YEAR else 6


class TrendPoint(NamedTuple):
    """The number of captures, and of distinct documents captured, in a period."""

    period: str
    captures: int
    documents: int


DateOption = str | int | date
"""A date in Python code: `"2010-03"`, a year, a date, or a datetime (UTC if naive)."""


def date_text(value: DateOption) -> str:
    """Return a date as text for `date_span`, which refuses dates that UTC cannot express."""
    if isinstance(value, datetime):
        try:
            return to_timestamp(value)
        except (ValueError, OverflowError):  # NaT of pandas; a date before year 1 in UTC
            return str(value)
    return f"{value.year:04}{value:%m%d}" if isinstance(value, date) else str(value)


def date_bound(value: DateOption, end: int) -> str:
    """Return the first (`end` 0) or last (1) timestamp of a date, "" for an empty text.

    Raises UsageError if `date_span` raises TimestampError.
    """
    text = date_text(value)
    try:
        return date_span(text)[end] if text else ""
    except TimestampError as error:
        raise UsageError(error.text) from error


REVERSED_RANGE = ErrorText("the range ends before it begins")


def date_bounds(begin: DateOption, end: DateOption) -> tuple[str, str]:
    """Return the first and last timestamp of a range of dates, "" for an open side.

    Raises UsageError as `date_bound` does, and for a range that ends before it begins.
    """
    first, last = date_bound(begin, 0), date_bound(end, 1)
    if first and last and first > last:
        raise UsageError(REVERSED_RANGE)
    return first, last
