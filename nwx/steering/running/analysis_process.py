"""Processes that analyse pages, and the pool of them."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from nwx.bulk.guarded_process import ItemGuard, Pulse, cause_of_death, prepare_process
from nwx.engine.crawls.crawl_index import DocumentScore
from nwx.errors import EngineError, NwxError, SourceError
from nwx.settings import Settings
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import TermStatistics
from nwx.steering.analysis.language_models import chosen_model
from nwx.steering.analysis.link_classifier import read_spam_hosts
from nwx.steering.analysis.page_view import PageView
from nwx.steering.running.options import PageAnalyzer, SteeringOptions
from nwx.steering.running.pages import PageReader, PageTask
from nwx.steering.specifications.specification import CrawlSpecification

if TYPE_CHECKING:
    from nwx.steering.triples.capture_graphs import CaptureGraph


PageTasks = tuple[PageTask, ...]


@dataclass(frozen=True, slots=True)
class AnalysisPlan:
    """What a process needs to know to analyse pages."""

    settings: Settings
    specification: CrawlSpecification
    statistics: TermStatistics
    options: SteeringOptions


@dataclass(frozen=True, slots=True)
class PageProblem:
    """Why a page could not be analysed; another time it may be possible if it is `temporary`."""

    message: str
    temporary: bool = False


@dataclass(frozen=True, slots=True)
class AnalysedPage:
    """The scores of a page, and the graphs of triples that it states, if these are wanted."""

    score: DocumentScore
    graphs: "tuple[CaptureGraph, ...]" = ()


PageAnswer = AnalysedPage | PageProblem | NwxError
"""What is said of each page in turn, or why a process cannot work."""


def analyse_pages(
    connection: "Connection[PageAnswer, PageTasks]", pulse: Pulse, plan: AnalysisPlan, log: Path
) -> None:
    """Analyse the pages that come over a connection, until its other end is closed."""
    options = plan.options
    prepare_process(options.item_bytes, log)
    guard = ItemGuard(pulse, options.item_seconds)
    try:
        analyzer = _analyzer(plan)
        with PageReader(plan.settings) as reader:
            while True:
                for number, task in enumerate(connection.recv()):
                    with guard(number):
                        answer = _answer(reader, analyzer, plan, task)
                    connection.send(answer)
    except NwxError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


def _analyzer(plan: AnalysisPlan) -> PageAnalyzer:
    options = plan.options
    if options.make_analyzer is not None:
        return options.make_analyzer(plan.specification, plan.statistics)
    model = chosen_model(options.nlp)
    return Analyzer(plan.specification, plan.statistics, model, _spam_hosts(options.spam_hosts))


def _spam_hosts(path: str) -> frozenset[str]:
    if not path:
        return frozenset()
    try:
        with Path(path).open(encoding="utf-8", errors="replace") as lines:
            return read_spam_hosts(lines)
    except OSError as error:
        raise SourceError(f"the list of spam hosts cannot be read: {error}") from error


def _answer(
    reader: PageReader, analyzer: PageAnalyzer, plan: AnalysisPlan, task: PageTask
) -> PageAnswer:
    try:
        page = reader.page(task)
        captured = reader.captured(page)
    except (SourceError, EngineError) as error:
        return PageProblem(str(error), temporary=True)
    try:
        score = analyzer.analyse(page, task.place.document_id, captured)
        return AnalysedPage(score, _graphs(page, score, plan) if plan.options.triples else ())
    except NwxError as error:
        return PageProblem(str(error))
    except MemoryError:
        return PageProblem("it takes more memory than a page may")


def _graphs(page: PageView, score: DocumentScore, plan: AnalysisPlan) -> "tuple[CaptureGraph, ...]":
    # Imported here: most runs store no triples.
    from nwx.steering.triples.capture_graphs import analysed_page_graphs

    return analysed_page_graphs(page, score, plan.specification)


_TASK_PAGES = 8
_DEATHS_IN_A_ROW = 3
"""How often processes may die outside of a page, one after the other, before the run ends."""

_context = get_context("forkserver")

PageResult = AnalysedPage | PageProblem


class AnalysisProcess:
    """The hold on one process; `pages` are those that it has not answered for."""

    def __init__(self, plan: AnalysisPlan, log: Path) -> None:
        self.plan, self._log = plan, log
        self._pulse = Pulse()
        self.pages: deque[PageTask] = deque()
        self._answered = 0
        log.touch()  # a process may die before it says anything
        self.connection: Connection[PageTasks, PageAnswer]
        self.connection, theirs = _context.Pipe()
        self._process = _context.Process(
            target=analyse_pages, args=(theirs, self._pulse, plan, log), daemon=True
        )
        self._process.start()
        theirs.close()

    def give(self, tasks: Sequence[PageTask]) -> None:
        """Let the process analyse pages; it must have none in hand."""
        self.pages.extend(tasks)
        self._answered = 0
        self._pulse.item = None
        self.connection.send(tuple(tasks))

    def answer(self) -> tuple[PageTask, PageResult]:
        """Return the next page that is done with; raises EOFError where the process is dead."""
        answer = self.connection.recv()
        if isinstance(answer, NwxError):
            raise answer
        self._answered += 1
        return self.pages.popleft(), answer

    def failed_page(self) -> tuple[PageTask | None, str]:
        """Return the page that a dead process died of, if it was one, and why it died."""
        cause = cause_of_death(self._process, self.plan.options.item_seconds, self._log)
        item = self._pulse.item
        died_of_page = item is not None and item == self._answered and self.pages
        return (self.pages.popleft() if died_of_page else None), cause

    def end(self) -> None:
        """End the process at once."""
        self._process.kill()
        self._process.join()
        self._process.close()
        self.connection.close()


@dataclass(slots=True)
class _Processes:
    idle: list[AnalysisProcess] = field(default_factory=list)
    busy: list[AnalysisProcess] = field(default_factory=list)
    started: int = 0
    deaths: int = 0


class AnalysisPool:
    """Up to so many processes that analyse pages; those that die are replaced.

    `folder` takes what they print.
    """

    def __init__(self, plan: AnalysisPlan, folder: Path) -> None:
        self._plan, self._folder = plan, folder
        self._processes = _Processes()

    @property
    def has_room(self) -> bool:
        """Whether a process has nothing to do."""
        return len(self._processes.busy) < self._plan.options.processes

    @property
    def pages(self) -> int:
        """The number of pages in hand."""
        return sum(len(process.pages) for process in self._processes.busy)

    @property
    def connections(self) -> "list[Connection[PageTasks, PageAnswer]]":
        """What to wait on: the connections of the processes that analyse."""
        return [process.connection for process in self._processes.busy]

    def give(self, waiting: deque[PageTask]) -> None:
        """Take pages from the front of a queue as long as there is room."""
        while waiting and self.has_room:
            idle = self._processes.idle
            process = idle.pop() if idle else self._new_process()
            count = min(_TASK_PAGES, len(waiting))
            tasks = [waiting.popleft() for _ in range(count)]
            self._processes.busy.append(process)
            try:
                process.give(tasks)
            except (BrokenPipeError, ConnectionResetError):
                continue  # its connection tells its end

    def _new_process(self) -> AnalysisProcess:
        self._processes.started += 1
        return AnalysisProcess(self._plan, self._folder / f"{self._processes.started}.log")

    def results(
        self, connection: object, again: Callable[[Sequence[PageTask]], None]
    ) -> Iterator[tuple[PageTask, PageResult]]:
        """Yield what the process behind a connection has to say.

        Pages that a dead process had not begun are given back to `again`.
        Raises NwxError where processes die again and again without a page.
        """
        process = next(p for p in self._processes.busy if p.connection is connection)
        try:
            yield process.answer()
            self._processes.deaths = 0
            if not process.pages:
                self._processes.busy.remove(process)
                self._set_aside(process)
        except (EOFError, ConnectionResetError):
            yield from self._buried(process, again)

    def _set_aside(self, process: AnalysisProcess) -> None:
        """Keep a process for later pages, unless it works by an earlier plan."""
        if process.plan is self._plan:
            self._processes.idle.append(process)
        else:
            process.end()

    def use(self, statistics: TermStatistics) -> None:
        """Analyse by these statistics what is not in hand yet."""
        self._plan = replace(self._plan, statistics=statistics)
        idle, self._processes.idle = self._processes.idle, []
        for process in idle:
            process.end()

    def _buried(
        self, process: AnalysisProcess, again: Callable[[Sequence[PageTask]], None]
    ) -> Iterator[tuple[PageTask, PageResult]]:
        failed, cause = process.failed_page()
        self._processes.busy.remove(process)
        again(process.pages)
        process.end()
        if failed is not None:
            self._processes.deaths = 0
            yield failed, PageProblem(f"the analysis {cause}")
            return
        self._processes.deaths += 1
        if self._processes.deaths >= _DEATHS_IN_A_ROW:
            raise NwxError(f"no process can analyse pages: the last one {cause}")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in (*self._processes.busy, *self._processes.idle):
            process.end()
