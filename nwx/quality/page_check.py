"""Comparison of a page in playback with the data of its crawl, and its score."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import Fault, PlaybackScore
from nwx.errors import FormatError, SourceError
from nwx.keys import id_of_capture
from nwx.model import Capture, Comparison, RenderPlace
from nwx.quality.browser.targets import PageRender
from nwx.quality.faults import (
    PageEvidence,
    Suspect,
    distances,
    page_faults,
    resource_key,
    short_text,
    suspects,
    wrong_status,
)
from nwx.quality.images import decoded
from nwx.quality.measures import FIRST_BAD, PageLikeness, page_likeness
from nwx.quality.missing_originals import wanted_by_keys
from nwx.quality.page_information import PageInfo, page_info, page_info_of_har
from nwx.quality.stored_renders import StoredRender, find_renders, read_render
from nwx.values.records import copied
from nwx.values.render_names import FaultKind, RenderKind
from nwx.values.timestamps import seconds_between, to_timestamp
from nwx.warc.sources import FilePlaces

MOST_SECONDS_APART = 30 * 86_400
"""Renders further from the capture of a page are not of its crawl."""

VIEWPORT = (1920, 1080)
"""Width and height for pages without a screenshot, as in Browsertrix."""

_OF_PLAYBACK = "playback"
_WIDTHS, _HEIGHTS = (320, 3840), (240, 2160)

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class CrawlRender:
    """The stored renders and page information of a page from its crawl.

    Missing parts are b"" or None. `viewport` is the size of the first screen of the crawl's
    browser. `problems` lists renders that could not be read.
    """

    view: bytes = b""
    view_place: RenderPlace | None = None
    viewport: tuple[int, int] = VIEWPORT
    text: str | None = None
    info: PageInfo | None = None
    problems: tuple[str, ...] = ()


class CrawlRenders:
    """Reads the renders of an archive that were not made from playback."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._places = FilePlaces(engine.files)

    def of_page(self, page: Capture) -> CrawlRender:
        """Return the renders and page information that the crawl stored for a captured page."""
        found = find_renders(self._engine, page.url, page.timestamp)
        problems: list[str] = []

        def first(kind: RenderKind, read: Callable[[StoredRender], _Read]) -> "_Found[_Read]":
            near = [one for one in found.get(kind, ()) if _is_near(one, page)]
            return self._first(near, read, problems)

        view = first(RenderKind.VIEW, _picture)
        text = first(RenderKind.TEXT, lambda stored: stored.payload.decode("utf-8", "replace"))
        info = first(RenderKind.PAGEINFO, lambda stored: page_info(stored.payload))
        if info is None:
            info = first(RenderKind.HAR, lambda stored: page_info_of_har(stored.payload))
        return CrawlRender(
            view=view[0][0] if view else b"",
            view_place=self._place(view[1]) if view else None,
            viewport=view[0][1] if view else VIEWPORT,
            text=text[0] if text else None,
            info=info[0] if info else None,
            problems=tuple(problems),
        )

    def _first(
        self,
        captures: Sequence[Capture],
        read: Callable[[StoredRender], _Read],
        problems: list[str],
    ) -> "_Found[_Read]":
        """Return the first readable render that is not from playback."""
        for capture in captures:
            try:
                stored = read_render(self._places, capture)
                if stored.rendered_from != _OF_PLAYBACK:
                    return read(stored), capture
            except (SourceError, FormatError) as error:
                problems.append(f"{capture.url[:200]}: {error}")
        return None

    def _place(self, capture: Capture) -> RenderPlace | None:
        path = self._places.path(capture.collection, capture.source_file)
        if path is None:
            return None
        _, member, inner = capture.source_file.partition("#")
        place = f"{path}{member}{inner}"
        return RenderPlace(place, capture.source_file_offset, capture.record_length or 0)


_Found = tuple[_Read, Capture] | None


def _is_near(render: Capture, page: Capture) -> bool:
    return seconds_between(render.timestamp, page.timestamp) <= MOST_SECONDS_APART


def _picture(stored: StoredRender) -> tuple[bytes, tuple[int, int]]:
    """Return a screenshot, and the size of the first screen of the browser that took it."""
    width, height = decoded(stored.payload).size
    if not _WIDTHS[0] <= width <= _WIDTHS[1]:
        width = VIEWPORT[0]
    if not _HEIGHTS[0] <= height <= _HEIGHTS[1]:
        height = VIEWPORT[1]  # a picture of the whole page
    return stored.payload, (width, height)


FLAWS = frozenset(
    {FaultKind.STATUS, FaultKind.LEAK, FaultKind.CONSOLE, FaultKind.FAR, FaultKind.REFUSED}
)
"""Faults with which a page may still look right."""

WEIGHTS = {"document": 5, "stylesheet": 8, "script": 4, "media": 3, "image": 2}
"""The weights of resources by type; others have 1."""

_FATAL = frozenset({FaultKind.CRASH, FaultKind.REDIRECT_LOOP})
_LOST = frozenset({FaultKind.MISSING, FaultKind.ORIGINAL, FaultKind.FAILED})
_RESOURCES_COUNT = 2
_FLAW_FACTOR, _TIMEOUT_FACTOR = 0.9, 0.5


def overall_score(
    render: PageRender,
    likeness: PageLikeness,
    faults: Sequence[Fault],
    suspects: Iterable[Suspect],
) -> float:
    """Return the score of a page, 0 (nothing plays) to 1 (nothing is wrong)."""
    kinds = {FaultKind(fault.kind) for fault in faults}
    came = {one.url: one.type for one in render.resources if 0 < one.status < FIRST_BAD}
    if kinds & _FATAL or not came:
        return 0.0
    types = {one.url: one.type for one in suspects}
    lost = {fault.resource for fault in faults if fault.kind in _LOST}
    if render.task.url in lost:
        return 0.0
    good, bad = _weight(came.values()), _weight(types.get(url, "") for url in lost)
    parts = [(good / (good + bad), _RESOURCES_COUNT), *((each, 1) for each in _likeness(likeness))]
    mean = sum(value * weight for value, weight in parts) / sum(weight for _, weight in parts)
    mean *= _TIMEOUT_FACTOR if FaultKind.TIMEOUT in kinds else 1
    return float(mean * _FLAW_FACTOR ** len(kinds & FLAWS))


def _likeness(likeness: PageLikeness) -> list[float]:
    compared = likeness.comparison
    pictures = [each for each in (compared.screenshot, likeness.structure) if each is not None]
    found = [sum(pictures) / len(pictures)] if pictures else []
    return found if compared.text is None else [*found, compared.text]


def _weight(types: Iterable[str]) -> int:
    return sum(WEIGHTS.get(type.lower(), 1) for type in types)


RULES = "3"
"""The version of the rules for faults and scores: pages are checked again when it changes."""

FAR_SECONDS = 30 * 86_400
"""By default, resources captured further from their page than this are faults."""


@dataclass(frozen=True, slots=True)
class CheckedPage:
    """The score of a page, its comparison as in Browsertrix, and the number of ignored requests.

    `problem` is why its screenshots could not be compared, "" if they were or are missing.
    """

    score: PlaybackScore
    comparison: Comparison
    left_aside: int
    problem: str


class PageCheck:
    """Compares pages in playback with the data of their crawl."""

    def __init__(self, engine: Engine, far_seconds: float = FAR_SECONDS) -> None:
        self._engine = engine
        self._far_seconds = far_seconds

    def check(self, page: Capture, crawl: CrawlRender, render: PageRender) -> CheckedPage:
        """Return the score of a page; failed resources are looked up in the archive.

        Raises EngineUnavailableError.
        """
        suspected = suspects(render, crawl.info)
        keys = list(dict.fromkeys(one.urlkey for one in suspected.found))
        statuses = self._engine.statuses(keys) if keys else {}
        apart = distances(render, self._far_seconds)
        unplayed = [
            one.urlkey for one in suspected.found if one.urlkey in statuses and not one.is_archived
        ]
        originals = wanted_by_keys(self._engine, unplayed, page.timestamp)
        evidence = PageEvidence(render, crawl.info, suspected.found, statuses, apart, originals)
        likeness = page_likeness(render, crawl.view, crawl.text, crawl.info)
        compared = likeness.comparison
        faults = [
            *wrong_status(render, page.status_code),
            *short_text(render, crawl.text, compared.text),
            *page_faults(evidence),
        ]
        missing = (fault.resource for fault in faults if fault.kind == FaultKind.MISSING)
        score = copied(
            PlaybackScore,
            compared,
            page,
            id=id_of_capture(page),
            checked=to_timestamp(datetime.now(UTC)),
            rules=RULES,
            score=overall_score(render, likeness, faults, suspected.found),
            structure=likeness.structure,
            worst_seconds=apart.worst,
            mean_seconds=apart.mean,
            faults=tuple(faults),
            faults_total=len(faults),
            crawl_view=crawl.view_place,
            resources=tuple(dict.fromkeys(map(resource_key, missing))),
        )
        return CheckedPage(score, compared, suspected.left_aside, likeness.problem)
