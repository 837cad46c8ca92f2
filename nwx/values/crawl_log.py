"""A line of the crawl.log that Heritrix writes: a URL that it is done with.

Time, status, size, URL, hops, page that led there, type, thread, begin and
duration, digest, seed and annotations, apart by blanks; `-` where there is
nothing. Lines of Heritrix 1 begin with a time of 17 digits.
"""

from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

ROBOTS_DENIED = -9998
"""The status of a URL that robots.txt denies."""

_NO_ANSWER = frozenset((*range(-8, 0), -50, *range(-63, -59), -404))
"""Names not found, connections refused, broken and timed out, retries used up."""

_FIELDS = 11
_REVISIT = "warcRevisit"
_DUPLICATE = "duplicate:"


class LoggedFetch(NamedTuple):
    """A URL that Heritrix is done with: how it came to it, and the status (negative: failed).

    `timestamp` is when the fetch began (14 digits, UTC), `logged` when the line
    was written. `size` is that of the content in bytes; None where not known.
    """

    url: str
    hops: str
    status: int
    timestamp: str = ""
    logged: str = ""
    size: int | None = None
    mime: str = ""
    took_ms: int | None = None
    digest: str = ""
    is_revisit: bool = False


def is_unanswered(status: int) -> bool:
    """Tell whether a status says that a host was asked, or looked up, and gave no answer."""
    return status in _NO_ANSWER


def logged_fetch(line: str) -> LoggedFetch | None:
    """Return what a line tells, None where it is none: cut, or something else.

    A line that is cut behind the URL is one, with less.
    """
    fields = line.split(None, _FIELDS)
    if len(fields) < 4 or ":" not in fields[3]:
        return None
    logged = _time(fields[0])
    status = fields[1]
    if not logged or not (status.isascii() and status.removeprefix("-").isdigit()):
        return None
    code = int(status[:8])
    if not -10_000 < code < 1_000:
        return None
    fields += ["-"] * (_FIELDS + 1 - len(fields))
    begun, took_ms = _begin(fields[8])
    annotations = fields[11]
    return LoggedFetch(
        fields[3],
        "" if fields[4] == "-" else fields[4],
        code,
        begun or logged,
        logged,
        _number(fields[2]),
        "" if fields[6] == "-" else fields[6],
        took_ms,
        "" if fields[9] == "-" else fields[9],
        _REVISIT in annotations or _DUPLICATE in annotations,
    )


def _time(text: str) -> str:
    """Return the 14 digits of the time that a line begins with, "" where there is none."""
    if text[10:11] == "T":
        text = f"{text[:4]}{text[5:7]}{text[8:10]}{text[11:13]}{text[14:16]}{text[17:19]}000"
    is_time = len(text) == 17 and text[12:].isdigit() and text[12:14] < "60"
    return text[:14] if is_time and _is_minute(text[:12]) else ""


@lru_cache(4096)
def _is_minute(text: str) -> bool:
    """Tell whether 12 characters are a minute that there is."""
    if not (text.isascii() and text.isdigit()):
        return False
    try:
        datetime.strptime(text, "%Y%m%d%H%M")
    except ValueError:
        return False
    return True


def _begin(text: str) -> tuple[str, int | None]:
    """Return when a fetch began, and the milliseconds that it took: `20261122051543780+2`."""
    begun, _, took = text.partition("+")
    return (time, _number(took)) if (time := _time(begun)) else ("", None)


def _number(text: str) -> int | None:
    return int(text) if len(text) < 16 and text.isascii() and text.isdigit() else None
