"""Lines of Heritrix's crawl.log, one per processed URL.

Fields are time, status, size, URL, hops, referring page, type, thread, begin and duration, digest,
seed and annotations, separated by blanks; `-` if missing. Lines of Heritrix 1 begin with a time of
17 digits.
"""

from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

ROBOTS_DENIED = -9998
"""The status of a URL denied by robots.txt."""

_NO_ANSWER = frozenset((*range(-8, 0), -50, *range(-63, -59), -404))
"""Statuses of unknown names, refused, broken and timed out connections, and exhausted retries."""

_FIELDS = 11
_REVISIT = "warcRevisit"
_DUPLICATE = "duplicate:"


class LoggedFetch(NamedTuple):
    """A URL processed by Heritrix: how it was discovered, and its status (negative: failed).

    `timestamp` is the begin of the fetch (14 digits, UTC), `logged` the time of the line. `size` is
    the size of the content in bytes, None if unknown.
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
    """Return whether a status means that a host was looked up or contacted without an answer."""
    return status in _NO_ANSWER


def logged_fetch(line: str) -> LoggedFetch | None:
    """Return the fetch in a crawl.log line, None if the line is truncated or invalid.

    A line truncated after the URL is valid; its remaining fields are missing.
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
    """Return the 14-digit timestamp at the start of a line, "" if it has none."""
    if text[10:11] == "T":
        text = f"{text[:4]}{text[5:7]}{text[8:10]}{text[11:13]}{text[14:16]}{text[17:19]}000"
    is_time = len(text) == 17 and text[12:].isdigit() and text[12:14] < "60"
    return text[:14] if is_time and _is_minute(text[:12]) else ""


@lru_cache(4096)
def _is_minute(text: str) -> bool:
    """Return whether 12 characters are a valid date, hour and minute."""
    if not (text.isascii() and text.isdigit()):
        return False
    try:
        datetime.strptime(text, "%Y%m%d%H%M")
    except ValueError:
        return False
    return True


def _begin(text: str) -> tuple[str, int | None]:
    """Return the begin and the milliseconds of a fetch, from `20261122051543780+2`."""
    begun, _, took = text.partition("+")
    return (time, _number(took)) if (time := _time(begun)) else ("", None)


def _number(text: str) -> int | None:
    return int(text) if len(text) < 16 and text.isascii() and text.isdigit() else None
