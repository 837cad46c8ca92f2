"""A process that analyses pages and may die of any of them."""

from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

from nwx.bulk.guarded_process import ItemGuard, Pulse, prepare_process
from nwx.engine.crawls.crawl_index import DocumentScore
from nwx.errors import EngineError, NwxError, SourceError
from nwx.settings import Settings
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.term_statistics import TermStatistics
from nwx.steering.running.options import PageAnalyzer, SteeringOptions
from nwx.steering.running.page_reader import PageReader, PageTask
from nwx.steering.specifications.specification import CrawlSpecification

Tasks = tuple[PageTask, ...]


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


PageAnswer = DocumentScore | PageProblem | NwxError
"""What is said of each page in turn, or why a process cannot work."""


def analyse_pages(
    connection: "Connection[PageAnswer, Tasks]", pulse: Pulse, plan: AnalysisPlan, log: Path
) -> None:
    """Analyse the pages that come over a connection, until its other end is closed."""
    options = plan.options
    prepare_process(options.item_bytes, log)
    guard = ItemGuard(pulse, options.item_seconds)
    make = options.make_analyzer or Analyzer
    try:
        analyzer = make(plan.specification, plan.statistics)
        with PageReader(plan.settings) as reader:
            while True:
                for number, task in enumerate(connection.recv()):
                    with guard(number):
                        answer = _answer(reader, analyzer, task)
                    connection.send(answer)
    except NwxError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


def _answer(reader: PageReader, analyzer: PageAnalyzer, task: PageTask) -> PageAnswer:
    try:
        page = reader.page(task)
        captured = reader.captured(page)
    except (SourceError, EngineError) as error:
        return PageProblem(str(error), temporary=True)
    try:
        return analyzer.analyse(page, task.place.document_id, captured)
    except NwxError as error:
        return PageProblem(str(error))
    except MemoryError:
        return PageProblem("it takes more memory than a page may")
