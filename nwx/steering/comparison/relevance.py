"""The relevance of pages: scores by a specification for comparisons, judgements for simulations."""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.captures import is_page
from nwx.engine.base import Engine
from nwx.errors import SourceError, UsageError
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import term_statistics
from nwx.steering.analysis.link_classifier import spam_host
from nwx.steering.analysis.page_view import page_view_of_document
from nwx.steering.comparison.comparison import CollectionComparison, RelevanceQuestion, compare
from nwx.steering.comparison.counts import ScoreTable
from nwx.steering.comparison.crawl_orders import PageGraph
from nwx.steering.pages import StoredPages
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.steering.specifications.specification_store import names_file, specification_at
from nwx.values.media_types import HTML


@dataclass(frozen=True, slots=True)
class ComparisonQuestion:
    """The names of one or two collections, and an optional specification."""

    a: str
    b: str = ""
    specification: CrawlSpecification | None = None


def comparison_question(engine: Engine, a: str, b: str, specification: str) -> ComparisonQuestion:
    """Return the question: `b` is a collection, or else a specification's file or name.

    Raises UsageError if a name is neither.
    """
    if b and b not in engine.collections():
        is_known = names_file(b) or engine.crawl_index().specification(b) is not None
        if specification or not is_known:
            there = ", ".join(engine.collections()) or "none yet"
            raise UsageError(
                f"{b!r} is neither a collection (there are: {there}) nor a crawl specification"
            )
        specification, b = b, ""
    chosen = specification_at(engine, specification) if specification else None
    if not b and chosen is None:
        raise UsageError(f"{a} alone cannot be compared; name a second one, or a specification")
    return ComparisonQuestion(a, b, chosen)


def relevance_question(
    engine: Engine, specification: CrawlSpecification, *, analyse: bool
) -> RelevanceQuestion:
    """Return the relevance question with the scores stored for this version.

    With `analyse`, documents without a score are analysed.
    """
    index = engine.crawl_index()
    version = specification.version()
    known = any(each.version == version for each in index.analysed_versions(specification.name))
    scores = ScoreTable(index.score_values(specification.name, version) if known else ())
    if not analyse:
        return RelevanceQuestion(specification, scores)
    return RelevanceQuestion(specification, scores, _NewScores(engine, specification))


def comparison_of(
    engine: Engine, a: str, b: str, specification: str, progress: ShowProgress = no_progress
) -> CollectionComparison:
    """Return the comparison of two collections, or of one with a specification.

    Documents without a score are analysed for it.
    """
    asked = comparison_question(engine, a, b, specification)
    relevance = None
    if asked.specification is not None:
        relevance = relevance_question(engine, asked.specification, analyse=True)
    return compare(engine, asked.a, asked.b, relevance, progress)


class _NewScores:
    """Scores documents by their records, or else by their index entries.

    The analyzer is created on first use.
    """

    def __init__(self, engine: Engine, specification: CrawlSpecification) -> None:
        self._engine, self._specification = engine, specification
        self._stored = StoredPages(engine)
        self._analyzer: Analyzer | None = None

    def __call__(self, ids: Sequence[str]) -> Mapping[str, float]:
        if self._analyzer is None:
            statistics = term_statistics(self._engine, self._specification)
            self._analyzer = Analyzer(self._specification, statistics)
        found = {}
        for id, document in self._engine.documents(ids).items():
            capture = document.capture
            if capture.content_type_norm != HTML:
                continue
            view = self._stored.view(capture, capture.timestamp) if is_page(capture) else None
            page = view or page_view_of_document(document)
            found[id] = self._analyzer.analyse(page, id).score
        return found


@dataclass(frozen=True, slots=True)
class SimulationTruth:
    """Known relevance of pages, independent of their scores: judgements by URL, and spam hosts.

    Without a judgement, a page of a spam host is not relevant, and scores decide on other pages.
    """

    judgements: Mapping[str, bool] = field(default_factory=dict)
    spam_hosts: frozenset[str] = frozenset()

    def by_page(
        self, hosts: Sequence[str], page_at: Callable[[str], int | None]
    ) -> dict[int, bool]:
        """Return the known relevance of pages by their numbers."""
        spam = (number for number, host in enumerate(hosts) if spam_host(host, self.spam_hosts))
        judged = ((page_at(url), relevant) for url, relevant in self.judgements.items())
        known = {number: relevant for number, relevant in judged if number is not None}
        return dict.fromkeys(spam, False) | known


def read_judged_pages(path: Path) -> dict[str, bool]:
    """Return the judgements of a file: a URL and a grade a line, 0 for not relevant.

    The CSV of `nwx judge --list` is read by its columns. Raises SourceError if the file cannot be
    read or has an invalid line.
    """
    found: dict[str, bool] = {}
    with SourceError.instead_of((OSError, csv.Error), f"{path} cannot be read"):
        lines = path.read_text(encoding="utf-8-sig", errors="replace").splitlines()
        judged = list(_judged_words(lines))
    for number, words in judged:
        if not words or words[0].startswith("#"):
            continue
        if len(words) != _JUDGED_WORDS or not words[1].isdecimal():
            raise SourceError(
                f"{path}, line {number}: a judgement is a URL and a grade, 0 for not relevant"
            )
        found[words[0]] = found.get(words[0], False) or int(words[1]) > 0
    return found


def _judged_words(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the line numbers with the URLs and grades of lines, or of a CSV with such columns."""
    rows = csv.DictReader(lines)
    if {"url", "grade"} <= {*(rows.fieldnames or ())}:
        yield from ((rows.line_num, [row["url"] or "", row["grade"] or ""]) for row in rows)
    else:
        yield from enumerate(map(str.split, lines), 1)


_JUDGED_WORDS = 2


@dataclass(frozen=True, slots=True)
class JudgedSample:
    """How well document scores identify relevant pages, measured on the judged pages.

    `pages` were judged, `relevant` of them as relevant; scores identify `found` of these, and
    `mistaken` others.
    """

    pages: int
    relevant: int
    found: int
    mistaken: int

    @property
    def precision(self) -> float | None:
        """The share of relevant pages among those that scores identify, None without any."""
        scored = self.found + self.mistaken
        return self.found / scored if scored else None


def precision_of(graph: PageGraph, judgements: Mapping[int, bool]) -> JudgedSample | None:
    """Return how well the scores of pages agree with judgements; None without judgements."""
    if not judgements:
        return None
    scored = {page for page in judgements if graph.page(page).score >= graph.threshold}
    relevant = {page for page, judged in judgements.items() if judged}
    found = len(scored & relevant)
    return JudgedSample(len(judgements), len(relevant), found, len(scored) - found)
