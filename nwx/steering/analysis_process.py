"""Processes that analyse pages, and their pool.

If a page makes its process hang, crash or exhaust its memory, the page is identified and the
process replaced.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING, Self

from nwx.bulk.guarded_process import GuardedProcess, ItemGuard, Pulse
from nwx.engine.indices.crawl_index import DocumentScore
from nwx.errors import EngineError, NwxError, SourceError
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import TermStatistics
from nwx.steering.analysis.language_models import chosen_model
from nwx.steering.analysis.link_classifier import read_spam_hosts
from nwx.steering.options import PageAnalyzer, SteeringPlan
from nwx.steering.pages import PageReader, PageTask

if TYPE_CHECKING:
    from nwx.steering.triples.capture_graphs import CaptureGraph

_TASK_PAGES = 8
_DEATHS_IN_A_ROW = 3
"""Consecutive deaths of processes outside of a page that end the run."""


@dataclass(frozen=True, slots=True)
class PageProblem:
    """Why a page could not be analysed; if `temporary`, it may succeed later."""

    message: str
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class AnalysedPage:
    """The scores of a page, and the graphs of its triples if requested."""

    score: DocumentScore
    graphs: "tuple[CaptureGraph, ...]" = ()


PageResult = AnalysedPage | PageProblem
_Tasks = tuple[PageTask, ...]
_Answer = PageResult | NwxError  # of each page in turn, or why a process cannot work


def analyse_pages(
    connection: "Connection[_Answer, _Tasks]", pulse: Pulse, plan: SteeringPlan
) -> None:
    """Analyse pages received over a connection until its other end is closed."""
    guard = ItemGuard(pulse, plan.options.item_seconds)
    try:
        analyzer = _analyzer(plan)
        with PageReader(plan.settings) as reader:
            while True:
                for number, task in enumerate(connection.recv()):
                    with guard(number):
                        answer = _result(reader, analyzer, plan, task)
                    connection.send(answer)
    except NwxError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


def _analyzer(plan: SteeringPlan) -> PageAnalyzer:
    options = plan.options
    if options.make_analyzer is not None:
        return options.make_analyzer(plan.specification, plan.statistics)
    spam_hosts = read_spam_hosts(Path(options.spam_hosts)) if options.spam_hosts else frozenset()
    model = chosen_model(options.nlp)
    return Analyzer(plan.specification, plan.statistics, model, spam_hosts)


def _result(
    reader: PageReader, analyzer: PageAnalyzer, plan: SteeringPlan, task: PageTask
) -> PageResult:
    try:
        page = reader.page(task)
        captured = reader.captured(page)
    except (SourceError, EngineError) as error:
        return PageProblem(str(error), temporary=True)
    try:
        score = analyzer.analyse(page, task.place.document_id, captured)
        if not plan.options.triples:
            return AnalysedPage(score)
        # Imported here: most runs store no triples.
        from nwx.steering.triples.capture_graphs import analysed_page_graphs

        return AnalysedPage(score, analysed_page_graphs(page, score, plan.specification))
    except NwxError as error:
        return PageProblem(str(error))
    except MemoryError:
        return PageProblem("it needs more memory than a page is allowed")


class AnalysisProcess(GuardedProcess):
    """An analysis process; `pages` are its pages without a result yet."""

    def __init__(self, plan: SteeringPlan) -> None:
        super().__init__(analyse_pages, plan, memory_bytes=plan.options.item_bytes)
        self.plan = plan
        self.pages: deque[PageTask] = deque()
        self._answered = 0

    def give(self, tasks: Sequence[PageTask]) -> None:
        """Send pages to the process, which must have finished all earlier ones."""
        self.pages.extend(tasks)
        self._answered = 0
        self.pulse.item = None
        self.connection.send(tuple(tasks))

    def answer(self) -> tuple[PageTask, PageResult]:
        """Return the next finished page with its result; raises EOFError if the process died."""
        answer = self.connection.recv()
        if isinstance(answer, NwxError):
            raise answer
        self._answered += 1
        return self.pages.popleft(), answer

    def failed_page(self) -> tuple[PageTask | None, str]:
        """Return the page that killed the process, None if none did, and the cause."""
        cause = self.death().cause(self.plan.options.item_seconds)
        item = self.pulse.item
        died_of_page = item is not None and item == self._answered and self.pages
        return (self.pages.popleft() if died_of_page else None), cause


class AnalysisPool:
    """A pool of processes that analyse pages; dead ones are replaced."""

    def __init__(self, plan: SteeringPlan) -> None:
        self._plan = plan
        self._idle: list[AnalysisProcess] = []
        self._busy: list[AnalysisProcess] = []
        self._deaths = 0

    @property
    def pages(self) -> int:
        """The number of pages being analysed."""
        return sum(len(process.pages) for process in self._busy)

    @property
    def connections(self) -> "list[Connection[_Tasks, _Answer]]":
        """The connections of the busy processes, to wait on."""
        return [process.connection for process in self._busy]

    def give(self, waiting: deque[PageTask]) -> None:
        """Take pages from the front of a queue while processes have capacity."""
        while waiting and len(self._busy) < self._plan.options.processes:
            process = self._idle.pop() if self._idle else AnalysisProcess(self._plan)
            self._busy.append(process)
            tasks = [waiting.popleft() for _ in range(min(_TASK_PAGES, len(waiting)))]
            try:
                process.give(tasks)
            except (BrokenPipeError, ConnectionResetError):
                continue  # `results` finds the end of its connection

    def results(
        self, connection: object, again: Callable[[Sequence[PageTask]], None]
    ) -> Iterator[tuple[PageTask, PageResult]]:
        """Yield the results that a process has sent over a connection.

        Pages that a dead process had not begun are passed to `again`. Raises NwxError if processes
        die repeatedly without a page.
        """
        process = next(p for p in self._busy if p.connection is connection)
        try:
            yield process.answer()
        except (EOFError, ConnectionResetError):
            yield from self._replace(process, again)
            return
        self._deaths = 0
        if not process.pages:
            self._busy.remove(process)
            if process.plan is self._plan:
                self._idle.append(process)
            else:
                process.end()

    def use(self, statistics: TermStatistics) -> None:
        """Analyse with these statistics from now on, except pages already being analysed."""
        self._plan = replace(self._plan, statistics=statistics)
        for process in self._idle:
            process.end()
        self._idle.clear()

    def _replace(
        self, process: AnalysisProcess, again: Callable[[Sequence[PageTask]], None]
    ) -> Iterator[tuple[PageTask, PageResult]]:
        failed, cause = process.failed_page()
        self._busy.remove(process)
        again(process.pages)
        process.end()
        if failed is not None:
            self._deaths = 0
            yield failed, PageProblem(f"the analysis {cause}")
            return
        self._deaths += 1
        if self._deaths >= _DEATHS_IN_A_ROW:
            raise NwxError(f"no process can analyse pages: the last one {cause}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in (*self._busy, *self._idle):
            process.end()
