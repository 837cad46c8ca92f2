"""Which requests of a page in playback tell nothing about the archive.

These are requests that no crawl can have captured, as their addresses are
new each time: those of counters and advertisements, and those that avoid
caches by chance or by the time; and what browsers ask for by themselves.
"""

import re
import time
from collections.abc import Iterator
from urllib.parse import urlsplit

from nwx.errors import TimestampError
from nwx.values.timestamps import parse_timestamp

SIGNALS = frozenset({"ping", "cspviolationreport", "preflight", "prefetch", "websocket"})
"""Types of requests that nothing of a page is made of."""

LASTING = frozenset({"document", "stylesheet", "font"})
"""Types of resources that are the same each time, whatever their address looks like."""

_ICON = "/favicon.ico"
_BUSTERS = frozenset(
    "_ cb cachebust cachebuster cache_buster nocache no_cache rnd rand random ord ts timestamp "
    "correlator utmn utmhid gtmcb uniq unique dc_rnd r z".split()
)
_DIGITS = re.compile(r"\d{5,}")
_BY_CHANCE = re.compile(r"0?\.\d{8,}")
_MOMENT = re.compile(r"(\d{10})(\d{3})?(\.\d+)?")
_BEFORE_SECONDS, _AFTER_SECONDS = 60, 3_600


def is_icon(url: str) -> bool:
    """Tell whether browsers ask for a URL by themselves."""
    return urlsplit(url).path == _ICON


def is_volatile(url: str, timestamp: str) -> bool:
    """Tell whether a URL is a volatile address: made by a script of the time or by chance.

    `timestamp` is that of the page: the clock of playback shows it. Times
    in addresses that are neither that nor now are versions of files.
    """
    return any(
        _BY_CHANCE.fullmatch(value)
        or (name.lower() in _BUSTERS and _DIGITS.fullmatch(value))
        or _is_moment(value, timestamp)
        for name, value in _parameters(url)
    )


def _parameters(url: str) -> Iterator[tuple[str, str]]:
    for parameter in re.split("[&;]", urlsplit(url).query):
        name, equals, value = parameter.partition("=")
        yield (name, value) if equals else ("_", name)


def _is_moment(value: str, timestamp: str) -> bool:
    found = _MOMENT.fullmatch(value)
    if not found:
        return False
    seconds = int(found[1])
    return any(
        -_BEFORE_SECONDS <= seconds - moment <= _AFTER_SECONDS for moment in _clocks(timestamp)
    )


def _clocks(timestamp: str) -> Iterator[float]:
    """Yield the time of the page, and now, as far back as a check may have begun."""
    yield time.time() - _AFTER_SECONDS / 2
    try:
        yield parse_timestamp(timestamp).timestamp()
    except TimestampError:
        return
