"""Checks of the pages of an archive in playback: rendered, compared, scored, and stored."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any

from nwx.bulk.progress import ShowProgress, WorkProgress, batches, no_progress, retry_unavailable
from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import Fault, PlaybackScore
from nwx.errors import SourceError
from nwx.keys import id_of_capture
from nwx.model import Capture, IndexName
from nwx.quality.browser.pool import NO_SANDBOX, BrowserPool
from nwx.quality.browser.targets import (
    ArchivePlayback,
    BrowserOptions,
    PageRender,
    RenderTask,
)
from nwx.quality.page_check import (
    FAR_SECONDS,
    RULES,
    CrawlRender,
    CrawlRenders,
    PageCheck,
)
from nwx.quality.page_choice import PageChoice, chosen_pages, repaired_pages
from nwx.quality.render_writer import StoreRender
from nwx.values.records import copied


@dataclass(frozen=True, slots=True)
class PlaybackReport:
    """Counts of the pages chosen, checked now, and checked before (`known`).

    `faults` counts pages by kind of fault. `left_aside` counts uninformative requests. `problems`
    lists read and write errors.
    """

    pages: int = 0
    checked: int = 0
    known: int = 0
    faulty: int = 0
    faults: Mapping[str, int] = field(default_factory=dict)
    left_aside: int = 0
    mean_score: float | None = None
    problems: tuple[str, ...] = ()
    problems_total: int = 0
    interrupted: bool = False

    def with_problems(self, other: "PlaybackReport") -> "PlaybackReport":
        """Return the same figures with the problems of another report added."""
        return replace(
            self,
            problems=(*self.problems, *other.problems),
            problems_total=self.problems_total + other.problems_total,
        )


class PlaybackTally:
    """Running counts of a playback check."""

    MOST_PROBLEMS = 100

    def __init__(self) -> None:
        self.pages = self.checked = self.known = self.faulty = 0
        self.left_aside = self.problems_total = 0
        self.faults: Counter[str] = Counter()
        self._problems: list[str] = []
        self._sum = 0.0

    def add(self, score: PlaybackScore) -> None:
        """Count a page."""
        self.checked += 1
        self._sum += score.score
        self.faulty += bool(score.faults)
        self.faults.update({str(fault.kind) for fault in score.faults})

    def note(self, problem: str) -> None:
        """Count a problem, and keep the first ones."""
        self.problems_total += 1
        if len(self._problems) < self.MOST_PROBLEMS:
            self._problems.append(problem)

    def report(self, *, interrupted: bool = False) -> PlaybackReport:
        """Return the figures so far."""
        return copied(
            PlaybackReport,
            self,
            faults=dict(self.faults.most_common()),
            mean_score=self._sum / self.checked if self.checked else None,
            problems=tuple(self._problems),
            interrupted=interrupted,
        )


def fault_json(score: PlaybackScore, fault: Fault) -> dict[str, Any]:
    """Return a fault as in the JSON of `nwx check-playback`."""
    return {
        "url": score.url,
        "timestamp": score.timestamp,
        "kind": str(fault.kind),
        "resource": fault.resource,
        "status": fault.status,
    }


def score_json(score: PlaybackScore) -> dict[str, Any]:
    """Return a score as in the JSON of `nwx check-playback`."""
    return {
        "url": score.url,
        "timestamp": score.timestamp,
        "screenshot": score.screenshot,
        "text": score.text,
        "resources": {
            "crawlGood": score.crawl_good,
            "crawlBad": score.crawl_bad,
            "replayGood": score.replay_good,
            "replayBad": score.replay_bad,
        },
    }


_BATCH_PAGES = 50
_FLUSH_SCORES, _FLUSH_SECONDS = 20, 5.0
_PATIENCE_SECONDS = 60.0
_CHANCY, _MOST_RETRIES = ("timeout", "crash", "memory"), 200
_COUNTED_CAPTURES = 200_000
"""In archives with at most this many captures, pages are counted first, to show progress."""


@dataclass(frozen=True, slots=True)
class PlaybackCheck:
    """The options of a playback check: its pages, rules and outputs.

    `force` repeats checks already made by these rules. `keep` stores renders. `is_playing` returns
    whether the player responds. `on_score` is called with each score, before it is stored.
    """

    choice: PageChoice = field(default_factory=PageChoice)
    far_seconds: float = FAR_SECONDS
    force: bool = False
    keep: StoreRender = lambda render, comparison: None
    is_playing: Callable[[], bool] = lambda: True
    on_score: Callable[[PlaybackScore], object] = lambda score: None


def check_playback(
    engine: Engine,
    renderer: BrowserPool,
    check: PlaybackCheck,
    progress: ShowProgress = no_progress,
    stopping: Callable[[], bool] = lambda: False,
) -> PlaybackReport:
    """Check the chosen pages not yet checked by these rules, or repaired since.

    Pages that timed out or crashed are rendered once more at the end. Scores are stored meanwhile:
    after `stopping` returns True, or after any error, another call continues. Raises SourceError if
    the player or the browser cannot be used, and EngineUnavailableError.
    """
    run = _Run(engine, renderer, check, progress)
    total = 0
    if engine.count(IndexName.CAPTURES) <= _COUNTED_CAPTURES:
        total = sum(1 for _ in chosen_pages(engine, check.choice))
    return run.check(chosen_pages(engine, check.choice, run.tally.note), stopping, total)


def check_pages(
    engine: Engine,
    renderer: BrowserPool,
    check: PlaybackCheck,
    pages: Iterable[Capture],
    stopping: Callable[[], bool] = lambda: False,
) -> PlaybackReport:
    """Check these captures of pages as `check_playback` does, ignoring `check.choice`."""
    return _Run(engine, renderer, check, no_progress).check(pages, stopping)


class _Run:
    def __init__(
        self, engine: Engine, renderer: BrowserPool, check: PlaybackCheck, progress: ShowProgress
    ) -> None:
        self._engine, self._renderer, self._check = engine, renderer, check
        self._index = engine.quality_index()
        self._renders = CrawlRenders(engine)
        self._page_check = PageCheck(engine, check.far_seconds)
        self._progress, self._total = progress, 0
        self._in_hand: dict[str, tuple[Capture, CrawlRender]] = {}
        self._scores: list[PlaybackScore] = []
        self._flushed = time.monotonic()
        self._again: list[Capture] = []
        self._may_retry = True
        self.tally = PlaybackTally()

    def check(
        self,
        pages: Iterable[Capture],
        stopping: Callable[[], bool],
        total: int = 0,
    ) -> PlaybackReport:
        self._total = total
        try:
            self._render(self._tasks(iter(pages), stopping), stopping)
            again, self._may_retry = self._again, False
            self._render((self._task(id_of_capture(page), page) for page in again), stopping)
        finally:
            self._flush()
        return self.tally.report(interrupted=stopping())

    def _render(self, tasks: Iterator[RenderTask], stopping: Callable[[], bool]) -> None:
        if stopping():
            return
        for render in self._renderer.render(tasks):
            self._take(render)
            if stopping():
                return

    def _tasks(
        self, pages: Iterator[Capture], stopping: Callable[[], bool]
    ) -> Iterator[RenderTask]:
        collection = self._check.choice.collection
        again = set() if self._check.force else repaired_pages(self._engine, collection)
        for batch in batches(pages, _BATCH_PAGES):
            done = self._done(batch) - again
            for page in batch:
                if stopping():
                    return
                self.tally.pages += 1
                id = id_of_capture(page)
                if id in done:
                    self.tally.known += 1
                elif id not in self._in_hand:
                    yield self._task(id, page)
                self._show()

    def _done(self, pages: list[Capture]) -> set[str]:
        ids = [id_of_capture(page) for page in pages]
        return set() if self._check.force else self._index.checked(ids, RULES)

    def _task(self, id: str, page: Capture) -> RenderTask:
        crawl = self._renders.of_page(page)
        for problem in crawl.problems:
            self.tally.note(problem)
        self._in_hand[id] = page, crawl
        width, height = crawl.viewport
        return RenderTask(page.url, page.timestamp, width, height, id)

    def _take(self, render: PageRender) -> None:
        page, crawl = self._in_hand.pop(render.task.key)
        if not any(one.status for one in render.resources) and not self._check.is_playing():
            raise SourceError(
                "playback no longer answers; what was checked is stored, run the same command"
                " again to resume"
            )
        if self._may_retry and self._is_worth_retrying(render):
            self._again.append(page)
            return
        found = self._page_check.check(page, crawl, render)
        self.tally.left_aside += found.left_aside
        if found.problem:
            self.tally.note(f"{page.url[:200]}: {found.problem}")
        place = self._check.keep(render, found.comparison)
        score = replace(found.score, playback_view=place)
        self.tally.add(score)
        self._check.on_score(score)
        self._scores.append(score)
        is_late = time.monotonic() - self._flushed >= _FLUSH_SECONDS
        if is_late or len(self._scores) >= _FLUSH_SCORES:
            self._flush()
        self._show()

    def _is_worth_retrying(self, render: PageRender) -> bool:
        """Return whether a page may render better later: the machine may have been busy."""
        return render.problem.startswith(_CHANCY) and len(self._again) < _MOST_RETRIES

    def _flush(self) -> None:
        scores, self._scores = self._scores, []
        if scores:
            retry_unavailable(lambda: self._index.put(scores), _PATIENCE_SECONDS)
        self._flushed = time.monotonic()

    def _show(self) -> None:
        counts = {"checked page": self.tally.checked, "faulty page": self.tally.faulty}
        done = self.tally.pages - len(self._in_hand)
        self._progress(WorkProgress("checking playback", done, self._total, counts=counts))


def check_in_browsers(
    engine: Engine,
    choice: PageChoice,
    browsers: BrowserOptions,
    playback: AbstractContextManager[ArchivePlayback],
    keep: AbstractContextManager[StoreRender],
    say: Callable[[str], object] | None,
    progress: ShowProgress = no_progress,
    stopping: Callable[[], bool] = lambda: False,
    **rules: Any,
) -> PlaybackReport:
    """Check pages in newly started browsers; `rules` are options of `PlaybackCheck`."""
    with playback as target, BrowserPool(browsers, target) as pool:
        if say and not pool.sandbox:
            say(NO_SANDBOX)
        with keep as store:
            check = PlaybackCheck(choice, keep=store, is_playing=target.answers, **rules)
            return check_playback(engine, pool, check, progress, stopping)
