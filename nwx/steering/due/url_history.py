"""The captures of a URL in the order of time: when it was last captured, and when it changed."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from operator import attrgetter

from nwx.cdx.rows import CdxRow, is_revisit_row
from nwx.errors import TimestampError
from nwx.steering.due.change_rate import ChangeObservation
from nwx.values.timestamps import parse_timestamp

MOST_OBSERVATIONS = 1_000
"""The newest so many of a URL count: its memory is bounded, and pages change their ways."""

SECONDS_A_DAY = 86_400.0
_DIGITS = 14
_NO_DIGEST = ("", "-")
_OTHER_METHOD = "__wb_method="


@dataclass(slots=True)
class UrlHistory:
    """What captures tell of a URL; `last` is the instant of the newest, in seconds since 1970.

    Captures that did not succeed (their status is not 2xx) count as
    captures, and tell nothing of changes. Elapsed times are in days.
    """

    url: str
    urlkey: str
    last: float = 0.0
    captures: int = 0
    changes: int = 0
    observations: deque[ChangeObservation] = field(
        default_factory=lambda: deque(maxlen=MOST_OBSERVATIONS)
    )
    _digest: str = ""
    _seen: float = 0.0

    def add(self, row: CdxRow, instant: float) -> None:
        """Take the next capture."""
        self.url, self.last = row.url, instant
        self.captures += 1
        if row.digest in _NO_DIGEST or not _succeeded(row):
            return
        if not self._digest:
            self._digest, self._seen = row.digest, instant
            return
        changed = row.digest != self._digest
        # Captures of the same second are one observation, which counts as what comes after it.
        if instant > self._seen:
            elapsed = (instant - self._seen) / SECONDS_A_DAY
            self.observations.append(ChangeObservation(elapsed, changed))
            self.changes += changed
            self._seen = instant
        self._digest = row.digest


def _succeeded(row: CdxRow) -> bool:
    return row.status.startswith("2") or (row.status == "-" and is_revisit_row(row))


class UrlHistories:
    """The histories in rows of captures; those with `unreadable` dates are counted and left out."""

    def __init__(self) -> None:
        self.captures = 0
        self.unreadable = 0

    def read(self, rows: Iterable[CdxRow]) -> Iterator[UrlHistory]:
        """Stream the histories of rows in the order of urlkey and timestamp.

        Only http and https are fetched by crawlers; captures of forms that
        were sent are left out.
        """
        for urlkey, group in groupby(rows, key=attrgetter("urlkey")):
            history = UrlHistory("", urlkey)
            for row in group:
                self.captures += 1
                if row.url[:4].lower() == "http" and _OTHER_METHOD not in urlkey:
                    self._add(history, row)
            if history.captures:
                yield history

    def _add(self, history: UrlHistory, row: CdxRow) -> None:
        try:
            history.add(row, _instant(row.timestamp))
        except TimestampError:
            self.unreadable += 1


def _instant(timestamp: str) -> float:
    """Return the seconds since 1970; captures of a day have most of the work in common."""
    if len(timestamp) == _DIGITS and timestamp.isascii() and timestamp.isdigit():
        hour, minute, second = int(timestamp[8:10]), int(timestamp[10:12]), int(timestamp[12:])
        if hour < 24 and minute < 60 and second < 60:
            return _day(timestamp[:8]) + 3_600 * hour + 60 * minute + second
    return parse_timestamp(timestamp).timestamp()


@lru_cache(maxsize=65_536)
def _day(text: str) -> float:
    return parse_timestamp(text).timestamp()
