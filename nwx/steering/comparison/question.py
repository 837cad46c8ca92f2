"""The input of a comparison: two collections, or one and a specification, and scores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.captures import is_page
from nwx.engine.base import Engine
from nwx.errors import UsageError
from nwx.steering.analysis.analyzer import Analyzer
from nwx.steering.analysis.document_scorer import term_statistics
from nwx.steering.analysis.page_view import page_view_of_document
from nwx.steering.comparison.comparison import CollectionComparison, RelevanceQuestion, compare
from nwx.steering.comparison.counts import ScoreTable
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
        raise UsageError(f"{a} alone cannot be compared; name a second collection, or --spec SPEC")
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
