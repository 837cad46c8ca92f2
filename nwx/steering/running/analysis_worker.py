"""A process that analyses pages and may die of any of them."""

from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import TYPE_CHECKING

from nwx.bulk.guarded_process import ItemGuard, Pulse, prepare_process
from nwx.engine.crawls.crawl_index import DocumentScore
from nwx.errors import EngineError, NwxError, SourceError
from nwx.settings import Settings
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.language.chosen_model import chosen_model
from nwx.steering.analysis.links.link_classifier import read_spam_hosts
from nwx.steering.analysis.page_view import PageView
from nwx.steering.analysis.term_statistics import TermStatistics
from nwx.steering.running.options import PageAnalyzer, SteeringOptions
from nwx.steering.running.page_reader import PageReader, PageTask
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
