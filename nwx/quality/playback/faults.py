"""What is wrong with a page in playback."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from nwx.engine.quality.quality_index import Fault
from nwx.quality.browser.page_render import PageRender
from nwx.quality.measures.resource_counts import FIRST_BAD
from nwx.quality.playback.distances import Distances
from nwx.quality.playback.suspects import Suspect
from nwx.quality.renders.page_information import PageInfo
from nwx.values.fault_kinds import FaultKind

MOST_DETAIL_CHARACTERS = 200

ERROR_ONLY = "archived with an error only"
"""The detail of faults that are mended once their resource is captured with success."""

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


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """What faults are found in.

    `info` is what the crawl's browser loaded, None where nobody knows.
    `statuses` are the lowest status codes that the archive has for urlkeys
    of `suspects`, without a key for those that it has nothing of.
    """

    render: PageRender
    info: PageInfo | None
    suspects: tuple[Suspect, ...]
    statuses: Mapping[str, int]
    distances: Distances


def page_faults(evidence: PageEvidence) -> list[Fault]:
    """Return what is wrong with a page, the page as a whole first, then resource by resource."""
    render = evidence.render
    lost = list(resource_faults(evidence.suspects, evidence.statuses))
    return [
        *_of_page(render),
        *lost,
        *(Fault(FaultKind.LEAK, url) for url in dict.fromkeys(render.leaks)),
        *_far(evidence.distances),
        *_console(render, evidence.info, has_lost=bool(lost)),
        *_refused(render.refused),
    ]


def resource_faults(found: Iterable[Suspect], statuses: Mapping[str, int]) -> Iterator[Fault]:
    """Yield the resources that are missing, or failed."""
    for one in found:
        archived = statuses.get(one.urlkey)
        if archived is None and not one.is_archived:
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


def _far(distances: Distances) -> Iterator[Fault]:
    for far in distances.far:
        days = round(abs(far.seconds) / 86_400)
        when = "after" if far.seconds > 0 else "before"
        apart = f"{days:,} {'day' if days == 1 else 'days'} {when} the page"
        yield Fault(FaultKind.FAR, far.url, far.status, apart)


def _console(render: PageRender, info: PageInfo | None, *, has_lost: bool) -> Iterator[Fault]:
    """Yield a fault for errors of scripts that the page may not have had in its crawl.

    These are more than the crawl's browser counted, or beside resources
    that are missing: pages have errors of their own too.
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
