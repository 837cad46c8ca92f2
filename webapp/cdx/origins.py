"""Which pages of other sites may read what the CDX server answers: none, unless they are named."""

import re
from collections.abc import Iterable

from nwx.errors import SettingsError

_ALL = "*"
_VARY = ("Vary", "Accept-Encoding")
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@,]+", re.IGNORECASE)


def origins_of(texts: Iterable[str]) -> frozenset[str]:
    """Return origins as browsers name them; `*` stands for all.

    Raises SettingsError for what is no origin.
    """
    found = frozenset(text.strip().rstrip("/").lower() for text in texts)
    for origin in found:
        if origin != _ALL and not _ORIGIN.fullmatch(origin):
            raise SettingsError(
                f"{origin[:80]!r} is no origin; write one as https://replay.example, or * for all"
            )
    return found


def origin_headers(asking: str, allowed: frozenset[str]) -> tuple[tuple[str, str], ...]:
    """Return the headers by which a page of the origin `asking` may read an answer, or may not."""
    if _ALL in allowed:
        return (("Access-Control-Allow-Origin", _ALL), _VARY)
    if not allowed:
        return (_VARY,)
    may_read = (("Access-Control-Allow-Origin", asking),) * (asking.lower() in allowed)
    return (*may_read, ("Vary", f"{_VARY[1]}, Origin"))
