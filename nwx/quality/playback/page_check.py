"""One page in playback compared with its crawl: a score."""

from dataclasses import dataclass
from datetime import UTC, datetime

from nwx.engine.base import Engine
from nwx.engine.quality.quality_index import PlaybackScore
from nwx.keys import capture_id
from nwx.model import Capture, Comparison
from nwx.quality.browser.page_render import PageRender
from nwx.quality.measures.page_likeness import page_likeness
from nwx.quality.playback.crawl_renders import CrawlRender
from nwx.quality.playback.distances import distances
from nwx.quality.playback.faults import PageEvidence, page_faults
from nwx.quality.playback.overall import overall_score
from nwx.quality.playback.suspects import resource_key, suspects
from nwx.values.fault_kinds import FaultKind
from nwx.values.timestamps import to_timestamp

RULES = "1"
"""The version of the rules for faults and scores: pages are checked again where it is a new one."""

FAR_SECONDS = 30 * 86_400
"""Resources further from their page in time than this are faults, unless asked otherwise."""


@dataclass(frozen=True, slots=True)
class CheckedPage:
    """The score of a page, its numbers as Browsertrix keeps them, and what was passed over."""

    score: PlaybackScore
    comparison: Comparison
    left_aside: int
    problem: str


class PageCheck:
    """Compares pages in playback with what their crawl kept of them."""

    def __init__(self, engine: Engine, far_seconds: float = FAR_SECONDS) -> None:
        self._engine = engine
        self._far_seconds = far_seconds

    def check(self, page: Capture, crawl: CrawlRender, render: PageRender) -> CheckedPage:
        """Return the score of a page; the archive is asked what it has of resources that failed.

        Raises EngineUnavailableError.
        """
        suspected = suspects(render, crawl.info)
        keys = list(dict.fromkeys(one.urlkey for one in suspected.found))
        statuses = self._engine.statuses(keys) if keys else {}
        apart = distances(render, self._far_seconds)
        evidence = PageEvidence(render, crawl.info, suspected.found, statuses, apart)
        faults = page_faults(evidence)
        likeness = page_likeness(render, crawl.view, crawl.text, crawl.info)
        compared = likeness.comparison
        missing = (fault.resource for fault in faults if fault.kind == FaultKind.MISSING)
        score = PlaybackScore(
            id=page_id(page),
            collection=page.collection,
            url=page.url,
            urlkey=page.urlkey,
            host=page.host,
            domain=page.domain,
            timestamp=page.timestamp,
            checked=to_timestamp(datetime.now(UTC)),
            rules=RULES,
            score=overall_score(render, likeness, faults, suspected.found),
            screenshot=compared.screenshot,
            structure=likeness.structure,
            text=compared.text,
            crawl_good=compared.crawl_good,
            crawl_bad=compared.crawl_bad,
            replay_good=compared.replay_good,
            replay_bad=compared.replay_bad,
            worst_seconds=apart.worst,
            mean_seconds=apart.mean,
            faults=tuple(faults),
            faults_total=len(faults),
            crawl_view=crawl.view_place,
            resources=tuple(dict.fromkeys(map(resource_key, missing))),
        )
        return CheckedPage(score, compared, suspected.left_aside, likeness.problem)


def page_id(page: Capture) -> str:
    """Return the id of the capture of a page."""
    return capture_id(page.collection, page.source_file, page.source_file_offset)
