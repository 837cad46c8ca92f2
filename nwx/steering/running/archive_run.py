"""The pages that an archive holds, analysed where that was not done yet."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from nwx.bulk.progress import ShowProgress, WorkProgress, estimated_total, no_progress
from nwx.engine.base import Engine
from nwx.model import IndexName
from nwx.settings import Settings
from nwx.steering.running.options import SteeringOptions
from nwx.steering.running.report import SteeringReport
from nwx.steering.running.steering_run import SteeringRun
from nwx.steering.running.unanalysed_pages import unanalysed_pages
from nwx.steering.specifications.specification import CrawlSpecification


@dataclass(slots=True)
class _Seen:
    """How far an archive of so many captures was gone through."""

    captures_in_all: int
    pages: int = 0
    captures: int = 0

    def add(self, pages: int, captures: int) -> None:
        """Count pages that were looked at, and the captures that these were found among."""
        self.pages += pages
        self.captures += captures

    @property
    def pages_in_all(self) -> int:
        """How many pages the archive has, as far as can be told."""
        return estimated_total(self.pages, self.captures, self.captures_in_all)


def steer_archive(
    engine: Engine,
    settings: Settings,
    specification: CrawlSpecification,
    options: SteeringOptions,
    progress: ShowProgress = no_progress,
    stopping: Callable[[], bool] = lambda: False,
) -> SteeringReport:
    """Analyse all pages of an archive that have no scores of this version of the specification.

    `settings` lead to `engine`, for the processes that analyse. Once
    `stopping` says so, what was found is stored, and the report is marked
    interrupted; another call goes on from there. Raises NwxError where
    nothing can be analysed or written.
    """
    seen = _Seen(engine.count(IndexName.CAPTURES))
    with SteeringRun(engine, settings, specification, options) as run:

        def work() -> None:
            run.turn()
            counts = run.report()
            found = {"page": counts.analysed, "link": counts.links, "failure": counts.failed}
            done = seen.pages - counts.waiting
            progress(WorkProgress("analysing", done, seen.pages_in_all, counts=found))

        for tasks in unanalysed_pages(engine, specification, run.version, seen.add):
            run.offer(tasks)
            while not run.wants_more and not stopping():
                work()
            if stopping():
                break
        while run.is_busy and not stopping():
            work()
        report = run.finish(stopping)
    return replace(report, interrupted=stopping())
