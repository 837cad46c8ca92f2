"""Redirects whose target was never captured: what pages that lead there lack."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice

from nwx.engine.base import Engine
from nwx.errors import UrlError
from nwx.keys import is_browsed
from nwx.values.urlkeys import urlkey

LOWEST_ERROR = 400
"""Captures with this status or a higher one are errors."""

_LOWEST_REDIRECT = 300
_MOST_FOLLOWED = 200
_MOST_HOPS = 5
_MOST_CAPTURES = 1_000


@dataclass(frozen=True, slots=True)
class LostTarget:
    """Redirect target without a successful capture; `status` is None without any capture."""

    url: str
    urlkey: str
    status: int | None


def is_redirect(status: int | None) -> bool:
    """Return whether the lowest status of a URL's captures is that of a redirect."""
    return status is not None and _LOWEST_REDIRECT <= status < LOWEST_ERROR


def lost_targets(
    engine: Engine, keys: Iterable[str], statuses: Mapping[str, int]
) -> dict[str, LostTarget]:
    """Return redirect targets without a successful capture, by the redirecting urlkeys.

    Of `keys` the first 200 are followed whose captures are redirects and errors only by their
    lowest `statuses`; the last redirect of each counts. Redirects to redirects are followed.
    """
    found: dict[str, LostTarget] = {}
    redirecting = (key for key in keys if is_redirect(statuses.get(key)))
    at = {key: key for key in islice(redirecting, _MOST_FOLLOWED)}
    for _ in range(_MOST_HOPS):
        led = {start: target for start, key in at.items() if (target := _target(engine, key))}
        statuses = engine.statuses([key for _, key in led.values()]) if led else {}
        at = {}
        for start, (url, key) in led.items():
            status = statuses.get(key)
            if is_redirect(status):
                at[start] = key
            elif status is None or status >= LOWEST_ERROR:
                found[start] = LostTarget(url, key, status)
    return found


def _target(engine: Engine, key: str) -> tuple[str, str] | None:
    """Return the URL and urlkey that a URL redirected to last, None if that is the same urlkey."""
    urls = [one.redirect_to for one in islice(engine.captures(key), _MOST_CAPTURES)]
    url = next(filter(None, reversed(urls)), "")
    try:
        target = urlkey(url) if is_browsed(url) else key
    except UrlError:
        return None
    return (url, target) if target != key else None
