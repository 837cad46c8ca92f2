"""Faults of a page in playback, and requests that say nothing about the archive.

The URLs of such requests are new each time, so that no crawl can have captured them: counters,
advertisements, and cache busters with random numbers or times.
"""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple, TypeVar
from urllib.parse import urlsplit

from nwx.engine.indices.quality_index import Fault
from nwx.errors import TimestampError, UrlError
from nwx.quality.browser.targets import PageRender, PlayedResource
from nwx.quality.measures import FIRST_BAD
from nwx.quality.missing_originals import WantedOriginal
from nwx.quality.page_information import PageInfo, PageResource
from nwx.values.render_names import FaultKind
from nwx.values.timestamps import parse_timestamp
from nwx.values.urlkeys import urlkey

SIGNALS = frozenset({"ping", "cspviolationreport", "preflight", "prefetch", "websocket"})
"""Types of requests that add nothing to a page."""

LASTING = frozenset({"document", "stylesheet", "font"})
"""Types of resources that are the same each time, whatever their address looks like."""

_Resource = TypeVar("_Resource", PlayedResource, PageResource)

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
    """Return whether browsers request a URL without a link from the page."""
    return urlsplit(url).path == _ICON


def is_volatile(url: str, timestamp: str) -> bool:
    """Return whether a URL is volatile: made by a script from the time or a random number.

    `timestamp` is the page's: the clock in playback shows it. Other times in URLs, except the
    current one, are file versions.
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
    """Yield the present, allowing for checks begun earlier, and the time of the page."""
    yield time.time() - _AFTER_SECONDS / 2
    try:
        yield parse_timestamp(timestamp).timestamp()
    except TimestampError:
        return


_WEB = ("http://", "https://")
_SHOWN = frozenset({"document", "stylesheet", "script", "image", "font", "media"})
_SHOWN_MIMES = ("text/css", "text/javascript", "application/javascript", "image/", "font/")


class Suspect(NamedTuple):
    """A resource that failed in playback.

    `status` is the status of the response, 0 without one. `is_archived` means that a capture was
    played, `was_good` that the crawl's browser loaded it, `was_asked` that the page requested it in
    playback.
    """

    url: str
    urlkey: str
    status: int
    type: str
    is_archived: bool
    was_good: bool
    was_asked: bool = True


@dataclass(frozen=True, slots=True)
class Suspects:
    """Resources to look up in the archive, and the number of ignored requests.

    Ignored requests failed in the crawl too, or cannot have been captured by any crawl.
    """

    found: tuple[Suspect, ...]
    left_aside: int


def suspects(render: PageRender, info: PageInfo | None) -> Suspects:
    """Return the resources of a page in playback that may be missing in the archive.

    `info` lists the resources loaded by the crawl's browser, if known. Resources that it loaded and
    playback did not request are included: a missing script requests nothing. So are URLs with a
    query: players fall back to captures with another query.
    """
    crawl = _by_key(info.resources) if info else None
    played = _by_key(render.resources)
    bad = {key: one for key, one in played.items() if _is_bad(one.status)}
    found = [one for key, each in bad.items() if (one := _suspect(key, each, render, crawl))]
    unasked = _unasked(crawl, played) if crawl else []
    return Suspects((*found, *unasked), len(bad) - len(found))


def resource_key(url: str) -> str:
    """Return the urlkey of a resource, "" for URLs outside the web."""
    if not url.startswith(_WEB):
        return ""
    try:
        return urlkey(url)
    except UrlError:
        return ""


def _is_bad(status: int) -> bool:
    return status == 0 or status >= FIRST_BAD


def _by_key(resources: Iterable[_Resource]) -> dict[str, _Resource]:
    """Return the requests by urlkey: a successful response if any, else the last one."""
    found: dict[str, _Resource] = {}
    for one in resources:
        key = resource_key(one.url)
        if key and (key not in found or _is_bad(found[key].status)):
            found[key] = one
    return found


def _suspect(
    key: str,
    one: PlayedResource,
    render: PageRender,
    crawl: Mapping[str, PageResource] | None,
) -> Suspect | None:
    is_archived = one.status > 0 and bool(one.timestamp)
    type = one.type.lower()
    known = crawl.get(key) if crawl else None
    if known is not None:
        if _is_bad(known.status):
            return None
    elif is_archived or _tells_nothing(one.url, type, render, has_list=crawl is not None):
        return None
    return Suspect(one.url, key, one.status, type, is_archived, known is not None)


def _tells_nothing(url: str, type: str, render: PageRender, *, has_list: bool) -> bool:
    """Return whether a request absent from the crawl says nothing about the archive."""
    if type in SIGNALS or is_icon(url):
        return True
    # A script may choose another banner each time.
    return type not in LASTING and (has_list or is_volatile(url, render.task.timestamp))


def _unasked(
    crawl: Mapping[str, PageResource], played: Mapping[str, PlayedResource]
) -> Iterator[Suspect]:
    """Yield crawl resources not requested in playback, or maybe played from another query."""
    for key, one in crawl.items():
        is_sure = key in played and (_is_bad(played[key].status) or "?" not in key)
        if not is_sure and not _is_bad(one.status) and _is_shown(one):
            yield Suspect(one.url, key, 0, one.type.lower(), False, True, was_asked=False)


def _is_shown(one: PageResource) -> bool:
    """Return whether a resource is part of a page, by its type, or its MIME type without one."""
    return one.type.lower() in _SHOWN or (not one.type and one.mime.startswith(_SHOWN_MIMES))


MOST_DETAIL_CHARACTERS = 200

ERROR_ONLY = "archived with an error only"
"""The detail of faults that are repaired once their resource is captured successfully."""

_OF_NETWORK = "Failed to load resource"
_REFUSED = (
    *("dialogs", "downloads", "popups", "prints"),
    *("service_workers", "sockets", "webrtc"),
)
_PROBLEMS = {
    "timeout": FaultKind.TIMEOUT,
    "crash": FaultKind.CRASH,
    "memory": FaultKind.CRASH,
    "redirect loop": FaultKind.REDIRECT_LOOP,
    "navigation": FaultKind.FAILED,
}


class FarResource(NamedTuple):
    """A resource, and the seconds from the page's capture to its own, negative if before."""

    url: str
    status: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Distances:
    """Worst and mean distance in seconds, None without resources, and the resources too far."""

    worst: int | None = None
    mean: int | None = None
    far: tuple[FarResource, ...] = ()


def distances(render: PageRender, far_seconds: float) -> Distances:
    """Return the distances in time of the loaded resources from the requested time.

    Captures that pages redirect to count, and so does the page itself if a capture of another time
    was played.
    """
    found = {
        one.url: FarResource(one.url, one.status, seconds)
        for one in render.resources
        if 0 < one.status < FIRST_BAD
        and (seconds := _seconds_after(one.timestamp, render.task.timestamp)) is not None
    }
    if not found:
        return Distances()
    apart = [abs(one.seconds) for one in found.values()]
    far = tuple(one for one in found.values() if abs(one.seconds) > far_seconds)
    return Distances(round(max(apart)), round(sum(apart) / len(apart)), far)


def _seconds_after(timestamp: str, page: str) -> float | None:
    if not timestamp or not page:
        return None
    try:
        return (parse_timestamp(timestamp) - parse_timestamp(page)).total_seconds()
    except TimestampError:
        return None


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """The evidence for the faults of a page.

    `info` lists the resources loaded by the crawl's browser, None if unknown. `statuses` maps
    urlkeys of `suspects` to their lowest archived status code; urlkeys without a capture have no
    key. `originals` has the missing originals of urlkeys with revisits only.
    """

    render: PageRender
    info: PageInfo | None
    suspects: tuple[Suspect, ...]
    statuses: Mapping[str, int]
    distances: Distances
    originals: Mapping[str, WantedOriginal] = field(default_factory=dict)


def page_faults(evidence: PageEvidence) -> list[Fault]:
    """Return the faults of a page: first of the page as a whole, then by resource."""
    render = evidence.render
    lost = list(resource_faults(evidence.suspects, evidence.statuses, evidence.originals))
    return [
        *_of_page(render),
        *lost,
        *(Fault(FaultKind.LEAK, url) for url in dict.fromkeys(render.leaks)),
        *_far(evidence.distances),
        *_console(render, evidence.info, has_lost=bool(lost)),
        *_refused(render.refused),
    ]


def resource_faults(
    found: Iterable[Suspect],
    statuses: Mapping[str, int],
    originals: Mapping[str, WantedOriginal] = MappingProxyType({}),
) -> Iterator[Fault]:
    """Yield the faults of resources that are missing, lack their original, or failed."""
    for one in found:
        archived = statuses.get(one.urlkey)
        if original := originals.get(one.urlkey):
            detail = _cut(f"a revisit of what is in no file: {original}")
            yield Fault(FaultKind.ORIGINAL, one.url, one.status or None, detail)
        elif archived is None and not one.is_archived:
            detail = "" if one.was_asked else "loaded in the crawl, and not in the archive"
            yield Fault(FaultKind.MISSING, one.url, one.status or None, detail)
        elif one.is_archived or (archived or 0) >= FIRST_BAD:
            if one.was_good:
                has_good = archived is not None and archived < FIRST_BAD
                detail = "played from a capture of an error" if has_good else ERROR_ONLY
                yield Fault(FaultKind.FAILED, one.url, one.status or archived, detail)
        elif one.status:
            yield Fault(FaultKind.FAILED, one.url, one.status, "in the archive, but not played")


def _of_page(render: PageRender) -> Iterator[Fault]:
    problem = render.problem
    name = next((name for name in _PROBLEMS if problem.startswith(name)), "")
    if name:
        yield Fault(_PROBLEMS[name], render.task.url, render.status or None, _cut(problem))
    elif problem:
        yield Fault(FaultKind.REFUSED, render.task.url, render.status or None, _cut(problem))


_REDIRECTS = range(300, 400)
_LEAST_ALIKE, _LEAST_TEXT = 0.5, 200


def wrong_status(render: PageRender, captured: int | None) -> Iterator[Fault]:
    """Yield a fault if a page was played with another status than it was captured with."""
    played = render.status if render.capture_timestamp else 0
    if captured and played and captured != played and captured not in _REDIRECTS:
        yield Fault(FaultKind.STATUS, render.task.url, played, f"captured with status {captured}")


def short_text(render: PageRender, text: str | None, alike: float | None) -> Iterator[Fault]:
    """Yield a fault if a page shows less than half of the text that the crawl's browser showed.

    `alike` is the likeness of the texts; a page that never loaded has other faults.
    """
    if not text or alike is None or render.problem or len(text) < _LEAST_TEXT:
        return
    if alike < _LEAST_ALIKE and len(render.text) < _LEAST_ALIKE * len(text):
        detail = f"{len(render.text):,} of {len(text):,} characters"
        yield Fault(FaultKind.SHORT, render.task.url, render.status or None, detail)


def _far(distances: Distances) -> Iterator[Fault]:
    for far in distances.far:
        days = round(abs(far.seconds) / 86_400)
        when = "after" if far.seconds > 0 else "before"
        apart = f"{days:,} {'day' if days == 1 else 'days'} {when} the page"
        yield Fault(FaultKind.FAR, far.url, far.status, apart)


def _console(render: PageRender, info: PageInfo | None, *, has_lost: bool) -> Iterator[Fault]:
    """Yield a fault for script errors that the page may not have had in its crawl.

    Pages may have errors anyway, so errors count only if there are more than in the crawl's
    browser, or resources are missing.
    """
    known = info.js_errors if info else None
    is_more = known is not None and render.js_errors > known
    errors = [text for text in render.console_errors if not text.startswith(_OF_NETWORK)]
    if errors and (is_more or has_lost):
        more = f" (1 of {len(errors)})" if len(errors) > 1 else ""
        yield Fault(FaultKind.CONSOLE, detail=_cut(errors[0]) + more)


def _refused(counts: Mapping[str, int]) -> Iterator[Fault]:
    for name in _REFUSED:
        if counts.get(name):
            yield Fault(FaultKind.REFUSED, detail=f"{name.replace('_', ' ')}: {counts[name]:,}")


def _cut(text: str) -> str:
    return text if len(text) <= MOST_DETAIL_CHARACTERS else f"{text[:MOST_DETAIL_CHARACTERS]}…"
