"""Counts of queries over time, and words unusually frequent in a selection."""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from msgspec import Meta

from nwx.engine.base import Engine
from nwx.engine.document_index import current_work
from nwx.errors import UsageError
from nwx.model import Collapse
from nwx.query.question import Question
from nwx.query.tree import Term
from nwx.searching.answers import Count
from nwx.values.timestamps import Period, TrendPoint
from nwx.values.urls import url_words

MOST_QUERIES = 6
"""The most queries compared at once."""

_MOST_PERIODS = 1_200
"""Over a longer time, empty periods are left out: some servers have wrong clocks."""

TREND_COLUMNS = (
    "period",
    "query",
    "captures",
    "documents",
    "captures_share",
    "documents_share",
)
"""The columns of trends in CSV, with a row for each query and period."""


@dataclass(frozen=True, slots=True)
class PeriodCounts:
    """Numbers and shares of captures and documents that a query finds in a period.

    A share is relative to the same filters without the query; None if those find nothing.
    """

    period: Annotated[str, Meta(description="a year, or a month: 2013, 201301")]
    captures: Count
    documents: Count
    captures_share: float | None
    documents_share: float | None


@dataclass(frozen=True, slots=True)
class QueryTrend:
    """A query and its counts in each period."""

    query: str
    points: tuple[PeriodCounts, ...]


@dataclass(frozen=True, slots=True)
class Trends:
    """Counts of queries over the same periods, and of the filters without a query."""

    by: Period
    periods: tuple[str, ...]
    trends: tuple[QueryTrend, ...]
    all: QueryTrend

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Yield the rows of a table with TREND_COLUMNS."""
        for one in self.trends:
            for point in one.points:
                shares = point.captures_share, point.documents_share
                yield point.period, one.query, point.captures, point.documents, *shares


def trends(
    engine: Engine, queries: Sequence[str], question: Question, period: Period = Period.YEAR
) -> Trends:
    """Return the captures and documents of at most six queries over time.

    `question` has the common filters and dates. Periods run from the first to the last one with a
    capture, without gaps up to 1,200 periods; beyond that, empty periods are left out. Raises
    QueryError and UsageError like searches.
    """
    if len(queries) > MOST_QUERIES:
        raise UsageError.translated(
            "%(count)s queries are too many; compare at most %(most)s",
            count=len(queries),
            most=MOST_QUERIES,
        )
    each = list(dict.fromkeys(queries))
    asked = [replace(question, query=query) for query in ("", *each)]
    every, *counted = engine.trends(asked, period)
    found = dict(zip(each, counted, strict=True))
    periods = _periods(every, period)
    totals = {point.period: point for point in every}
    return Trends(
        period,
        periods,
        tuple(_query_trend(query, points, periods, totals) for query, points in found.items()),
        _query_trend("", every, periods, totals),
    )


def _query_trend(
    query: str,
    points: Sequence[TrendPoint],
    periods: Sequence[str],
    totals: dict[str, TrendPoint],
) -> QueryTrend:
    known = {point.period: point for point in points}
    return QueryTrend(
        query,
        tuple(
            _counts(
                known.get(period, TrendPoint(period, 0, 0)),
                totals.get(period, TrendPoint(period, 0, 0)),
            )
            for period in periods
        ),
    )


def _counts(point: TrendPoint, total: TrendPoint) -> PeriodCounts:
    return PeriodCounts(
        point.period,
        point.captures,
        point.documents,
        _share(point.captures, total.captures),
        _share(point.documents, total.documents),
    )


def _share(part: int, whole: int) -> float | None:
    # A capture may be added between two queries.
    return min(1.0, part / whole) if whole else None


def _periods(points: Sequence[TrendPoint], unit: Period) -> tuple[str, ...]:
    """Return all periods from the first to the last, only those with captures if too many."""
    if not points:
        return ()
    first, last = points[0].period, points[-1].period
    width = _month(last.ljust(6, "1")) - _month(first.ljust(6, "1"))
    if width // (12 if unit is Period.YEAR else 1) > _MOST_PERIODS:
        return tuple(point.period for point in points)
    if unit is Period.YEAR:
        return tuple(f"{year:04}" for year in range(int(first), int(last) + 1))
    months = (
        f"{month // 12:04}{month % 12 + 1:02}" for month in range(_month(first), _month(last) + 1)
    )
    return tuple(months)


def _month(period: str) -> int:
    return int(period[:4]) * 12 + int(period[4:]) - 1


MOST_WORDS = 100
"""The most words listed."""

MOST_DOCUMENTS_READ = 1_000
"""The most documents of a selection that are read: its best matches."""

_CANDIDATES = 300
_AT_ONCE = 100
_MOST_CHARACTERS = 200_000
_LEAST_DOCUMENTS = 2
_WORD = re.compile(r"(?=.{3,40}\Z)[^\W\d_]+(?:'[^\W\d_]+)*|[\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class DistinctiveWord:
    """A word, with its numbers of documents in the sample and in the archive.

    `score` is the log-likelihood ratio (Dunning 1993) of the two: the higher, the less likely the
    difference is due to chance (3.8: 1 in 20, 10.8: 1 in 1,000).
    """

    word: str
    documents: int
    archive_documents: int
    score: float


@dataclass(frozen=True, slots=True)
class DistinctiveWords:
    """The most distinctive words of a selection, highest score first.

    `read` of the selection's `documents` were read; the archive has `archive_documents`.
    """

    documents: int
    read: int
    archive_documents: int
    words: tuple[DistinctiveWord, ...]


def distinctive_words(
    engine: Engine, question: Question, most: int = MOST_WORDS
) -> DistinctiveWords:
    """Return the words unusually frequent in a question's results, compared with the archive.

    Reads the first thousand documents of the question. Words are spelled as in most documents, in
    lower case, without the stop words of their language; words found only in URLs are not listed.
    Raises the errors of searches.
    """
    # Imported here: only word counts need it.
    from nwx.engine.analyzer import tokens, written_words

    asked = replace(question, collapse=Collapse.NONE, facets=(), snippets=False, offset=0)
    every, found = engine.totals([Question(), asked])
    forms: Counter[tuple[str, str]] = Counter()
    only_in_urls: Counter[str] = Counter()
    read = 0
    for text, url, language in _texts(engine, asked, found):
        current_work().check()
        read += 1
        words_here = written_words(text[:_MOST_CHARACTERS], language)
        forms.update(words_here.items())
        only_in_urls.update({*tokens(url)} - words_here.keys())
    counts: Counter[str] = Counter()
    written: dict[str, tuple[int, str]] = {}
    for (word, form), number in forms.items():
        if _WORD.fullmatch(word):
            counts[word] += number
            written[word] = max(written.get(word, (0, "")), (number, form))
    for word in counts:
        counts[word] += only_in_urls[word]
    # Frequent words first: the counts of rare words are not significant.
    likely = [pair for pair in counts.most_common(_CANDIDATES) if pair[1] >= _LEAST_DOCUMENTS]
    current_work().check()
    totals = engine.totals([Question(Term("", word)) for word, _ in likely])
    words = []
    for (word, here), total in zip(likely, totals, strict=True):
        score = log_likelihood(here, read, everywhere := max(here, total), every)
        if score > 0:
            words.append(DistinctiveWord(written[word][1], here, everywhere, round(score, 2)))
    words.sort(key=lambda one: (-one.score, one.word))
    return DistinctiveWords(found, read, every, tuple(words[:most]))


def log_likelihood(here: int, read: int, everywhere: int, every: int) -> float:
    """Return a score of how much more frequent a word is in a selection than elsewhere, 0 if rarer.

    `here` of `read` documents of the selection contain the word, `everywhere` of all `every`
    documents. The score is twice the log-likelihood ratio of Dunning, "Accurate Methods for the
    Statistics of Surprise and Coincidence" (1993).
    """
    elsewhere, others = everywhere - here, max(every - read, 0)
    if not read or not others or here * others <= elsewhere * read:
        return 0.0
    rate = everywhere / (read + others)
    return 2 * (
        _part(here, read * rate)
        + _part(read - here, read * (1 - rate))
        + _part(elsewhere, others * rate)
        + _part(others - elsewhere, others * (1 - rate))
    )


def _part(seen: int, expected: float) -> float:
    return seen * math.log(seen / expected) if seen > 0 and expected > 0 else 0.0


def _texts(engine: Engine, question: Question, found: int) -> Iterator[tuple[str, str, str]]:
    """Yield the text, URL words and language of the first documents."""
    for offset in range(0, min(found, MOST_DOCUMENTS_READ), _AT_ONCE):
        hits = engine.search(replace(question, offset=offset, limit=_AT_ONCE)).hits
        for document in engine.texts([hit.id for hit in hits]).values():
            extract = document.extract
            text = " ".join((extract.title, *extract.headings, extract.content))
            yield text, url_words(document.capture.url), extract.content_language


def sizes(words: Sequence[DistinctiveWord], steps: int) -> dict[str, int]:
    """Return the size of each word in a word cloud, 1 to `steps`, by the logarithm of its score."""
    if not words:
        return {}
    scores = {one.word: math.log1p(one.score) for one in words}
    low, high = min(scores.values()), max(scores.values())
    width = (high - low) or 1.0
    return {word: 1 + round((steps - 1) * (score - low) / width) for word, score in scores.items()}
