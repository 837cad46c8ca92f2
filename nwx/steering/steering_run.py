"""Runs of analysis, which turn pages into scores and updates for the crawler's queue."""

import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, Self

from nwx.bulk.guarded_process import Pulse
from nwx.bulk.progress import (
    ShowProgress,
    WorkProgress,
    estimated_total,
    no_progress,
    retry_unavailable,
)
from nwx.engine.base import Engine, open_engine
from nwx.errors import NwxError
from nwx.model import IndexName, ReadError
from nwx.settings import Settings
from nwx.steering.analysis_process import AnalysisPool, PageProblem, PageResult
from nwx.steering.options import (
    ANALYSIS,
    STOP,
    Figures,
    NewPages,
    Order,
    ProcessAnswer,
    SteeringCommand,
    SteeringOptions,
    SteeringPlan,
    SteeringReport,
)
from nwx.steering.pages import PageBatch, PageSweeps, PageTask, unanalysed_pages
from nwx.steering.queue.queue_work import QueueDelivery
from nwx.steering.score_writer import CurrentStatistics, ScoreWriter
from nwx.steering.specifications.specification import CrawlSpecification

if TYPE_CHECKING:
    from nwx.steering.triples.triple_store import TripleWriter


_LOOK_SECONDS = 0.25
_WAIT_SECONDS = 60.0
_FEW_PAGES = 100
_ANY_CHANGE = 1e-6


class SteeringRun:
    """Analysis of pages by a specification, with a bounded queue, processes and a writer.

    One process owns it and calls `turn` repeatedly.
    """

    def __init__(self, engine: Engine, plan: SteeringPlan) -> None:
        self._began = time.monotonic()
        self._options, self._specification = plan.options, plan.specification
        self._index = engine.crawl_index()
        self.version = plan.specification.version()
        self._report = SteeringReport(plan.specification.name, self.version)
        self._left = 0
        """The number of pages that could not be read and are left for later."""
        self._statistics = CurrentStatistics(engine, plan.specification)
        self._waiting: deque[PageTask] = deque()
        self._taken: set[str] = set()
        self._resources = ExitStack()
        triples = _triple_writer(plan.settings) if plan.options.triples else None
        if triples is not None:
            self._resources.enter_context(triples)
        patience = plan.options.patience_seconds
        self._writer = ScoreWriter(engine, plan.specification, self._report, patience, triples)
        self._writer.send_seeds()
        pool = AnalysisPool(replace(plan, statistics=self._statistics.terms))
        self._pool = self._resources.enter_context(pool)
        delivery = QueueDelivery(engine, plan.specification.queue, plan.settings.queue_token)
        self._delivery = self._resources.enter_context(delivery)

    @property
    def room(self) -> int:
        """How many more pages can be queued."""
        return max(0, self._options.queue_pages - len(self._waiting))

    @property
    def wants_more(self) -> bool:
        """Return whether so few pages are waiting that more should be fetched."""
        return len(self._waiting) < _FEW_PAGES

    @property
    def is_busy(self) -> bool:
        """Whether pages wait or are being analysed."""
        return bool(self._waiting) or self._pool.pages > 0

    def offer(self, tasks: Iterable[PageTask]) -> None:
        """Queue new pages; analysed and already queued ones are left out."""
        name, collection = self._specification.name, self._specification.collection
        new = {
            task.place.document_id: task
            for task in tasks
            if collection in ("", task.place.collection)
            and task.place.document_id not in self._taken
        }
        done = retry_unavailable(
            lambda: self._index.analysed(name, self.version, new), self._options.patience_seconds
        )
        fresh = [task for id, task in new.items() if id not in done]
        self._taken.update(task.place.document_id for task in fresh)
        self._waiting.extend(fresh)

    def turn(self, others: Sequence[Any] = (), seconds: float = _LOOK_SECONDS) -> list[Any]:
        """Process pages for up to `seconds`; return the connections in `others` that are ready.

        Raises NwxError if nothing can be analysed or written.
        """
        if self._statistics.renew():
            self._pool.use(self._statistics.terms)
        self._pool.give(self._waiting)
        heard = []
        for connection in wait([*self._pool.connections, *others], seconds):
            if connection in others:
                heard.append(connection)
                continue
            for task, result in self._pool.results(connection, self._waiting.extendleft):
                self._take(task, result)
        if self._writer.is_due:
            self.flush()
        return heard

    def _take(self, task: PageTask, result: PageResult) -> None:
        place = task.place
        if not isinstance(result, PageProblem):
            self._writer.add(place, result.score, result.graphs)
        elif result.temporary:
            self._left += 1
            self._taken.discard(place.document_id)
        else:
            message = f"{place.url}: {result.message}"
            self._report.fail(ReadError(place.source_file, place.offset, ANALYSIS, message))

    def forget_left(self) -> None:
        """Reset the count of pages left for later, as a sweep begins."""
        self._left = 0

    def flush(self) -> None:
        """Store all results found so far."""
        self._taken.difference_update(self._writer.flush())

    def finish(self, stopping: Callable[[], bool] = lambda: False) -> SteeringReport:
        """Store the results, wait until they are delivered, and return the figures."""
        # At the end the queue gets all learned changes, however often results were stored.
        self._taken.difference_update(self._writer.flush(_ANY_CHANGE))
        self._delivery.finish(stopping)
        return self.report()

    def report(self) -> SteeringReport:
        """Return the figures so far; pages being analysed count as waiting too."""
        return replace(
            self._report,
            waiting=len(self._waiting) + self._pool.pages + self._left,
            undelivered=self._delivery.undelivered(),
            delivery_problem=self._delivery.problem,
            seconds=time.monotonic() - self._began,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self._resources.close()


def _triple_writer(settings: Settings) -> "TripleWriter":
    # Imported here: most runs store no triples.
    from nwx.steering.triples.archive_triples import triple_store

    return triple_store(settings).writer(_WAIT_SECONDS)


def steer_archive(
    engine: Engine,
    settings: Settings,
    specification: CrawlSpecification,
    options: SteeringOptions,
    progress: ShowProgress = no_progress,
    stopping: Callable[[], bool] = lambda: False,
) -> SteeringReport:
    """Analyse all pages without scores of this version of the specification.

    `settings` must describe `engine`: the analysing processes use them. Once `stopping` returns
    true, the results so far are stored and the report is marked interrupted; another call continues
    from there. Raises NwxError if nothing can be analysed or written.
    """
    captures_in_all = engine.count(IndexName.CAPTURES)
    with SteeringRun(engine, SteeringPlan(settings, specification, options)) as run:
        pages = captures = 0

        def work() -> None:
            run.turn()
            counts = run.report()
            found = {"page": counts.analysed, "link": counts.links, "failure": counts.failed}
            total = estimated_total(pages, captures, captures_in_all)
            progress(WorkProgress("analysing", pages - counts.waiting, total, counts=found))

        for batch in unanalysed_pages(engine, specification, run.version):
            pages += batch.pages
            captures += batch.captures
            run.offer(batch.tasks)
            while not run.wants_more and not stopping():
                work()
            if stopping():
                break
        while run.is_busy and not stopping():
            work()
        report = run.finish(stopping)
    return replace(report, interrupted=stopping())


_REPORT_SECONDS = 0.5
_NICENESS = 5


def steer(connection: "Connection[ProcessAnswer, Order]", stop: Pulse, plan: SteeringPlan) -> None:
    """Analyse pages received over a connection; end on STOP, or with the parent."""
    os.nice(_NICENESS)  # with few cores, loading comes first
    try:
        with open_engine(plan.settings) as engine:
            run = SteeringRun(engine, plan)
            steering = _Steering(connection, stop, plan, engine, run)
            with run, suppress(EOFError, BrokenPipeError, ConnectionResetError):  # a lost parent
                steering.work()
                run.finish(lambda: not steering.is_left_to_work())
            connection.send(Figures(run.report(), steering.taken, is_last=True))
    except NwxError as error:
        connection.send(error)
    except (BrokenPipeError, ConnectionResetError):
        return


class _Steering:
    def __init__(
        self,
        connection: "Connection[ProcessAnswer, Order]",
        stop: Pulse,
        plan: SteeringPlan,
        engine: Engine,
        run: SteeringRun,
    ) -> None:
        self._connection, self._stop, self._plan = connection, stop, plan
        self._engine, self._run = engine, run
        self._sweeps = PageSweeps(self._all_pages)
        self._is_finishing = False
        self._reported = 0.0
        self.taken = 0

    def work(self) -> None:
        """Process orders and pages until the end."""
        while self._has_work():
            if self._run.wants_more and not self._sweeps.is_over:
                self._run.offer(self._sweeps.next_pages())
            listened = [self._connection] if self._run.room else []
            for _ in self._run.turn(listened):
                self._obey(self._connection.recv())
            if time.monotonic() - self._reported >= _REPORT_SECONDS:
                self._reported = time.monotonic()
                self._connection.send(Figures(self._run.report(), self.taken))

    def is_left_to_work(self) -> bool:
        """Return whether the parent is alive and has not sent STOP."""
        parent = parent_process()
        return self._stop.position != STOP and parent is not None and parent.is_alive()

    def _has_work(self) -> bool:
        is_done = self._is_finishing and self._sweeps.is_over and not self._run.is_busy
        return self.is_left_to_work() and not is_done

    def _obey(self, order: Order) -> None:
        if isinstance(order, NewPages):
            self.taken += len(order.places)
            self._run.offer(PageTask(place, order.source) for place in order.places)
        elif order is SteeringCommand.FINISH:
            self._is_finishing = True
        else:
            self._sweeps.ask()

    def _all_pages(self) -> Iterator[PageBatch]:
        self._run.forget_left()
        return unanalysed_pages(self._engine, self._plan.specification, self._run.version)
