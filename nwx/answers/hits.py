"""Search results that are counted, paged and streamed on demand."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from nwx.answers.tables import ColumnTypes, ResultTable, bar_chart, frames_of
from nwx.bulk.whole_files import whole_file
from nwx.engine.document_index import RESULT_WINDOW
from nwx.errors import UsageError
from nwx.model import Collapse, FacetValue, Hit, SearchResult, Sort, Total
from nwx.plugins import plugin
from nwx.query.fields import FILTERS
from nwx.query.question import MAX_LIMIT, Question, answered_question
from nwx.query.rankings import SearchBy
from nwx.query.tree import FIRST_REDIRECT
from nwx.values.arguments import check_arguments, check_limit, first_of
from nwx.values.records import BYTE_ORDER_MARK

if TYPE_CHECKING:
    import polars as pl

    from nwx.engine.base import Engine

__all__ = ["RESULT_WINDOW", "Hits"]

_COLUMNS: ColumnTypes = {
    "url": str,
    "title": str,
    "first_date": str,
    "last_date": str,
    "captures": int,
    "versions": int,
    "status": int,
    "type": str,
    "language": str,
    "length_bytes": int,
    "digest": str,
    "collections": (str,),
    "score": float,
    "snippet": str,
    "id": str,
}


class Hits(ResultTable[Hit]):
    """The hits of a query, best first; supports `len`, slices and pages.

    Slices reach up to the 10,000th hit. Iterating over a larger result streams every version from
    the engine, unordered.
    """

    def __init__(
        self, engine: "Callable[[], Engine]", question: Question, embedder: str = ""
    ) -> None:
        self._engine = engine
        self.question = question
        self._embedder = embedder

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(_COLUMNS)

    @cached_property
    def _first(self) -> SearchResult:
        return self.page()

    @property
    def total(self) -> Total:
        """The number of hits, exact (`eq`) or a lower bound (`gte`)."""
        return self._first.total

    def __len__(self) -> int:
        return self.total.value

    def __iter__(self) -> Iterator[Hit]:
        from nwx.exports.captures import all_hits

        if self.question.by is not SearchBy.WORDS:
            return iter(self._found(replace(self.question, offset=0, limit=MAX_LIMIT)).hits)
        return all_hits(self._engine(), self._asked)

    @property
    def _asked(self) -> Question:
        """The question, which finds documents with most of its words if none has all."""
        loosens = bool(self.question.ranking.most_words) and self.question.sort is Sort.RELEVANCE
        return replace(self.question, most_words=loosens)

    def _found(self, question: Question) -> SearchResult:
        if question.by is SearchBy.WORDS:
            return self._engine().search(question)
        # Imported here: most archives have no vectors, and this loads NumPy.
        from nwx.searching.vectors import search_by_meaning

        return search_by_meaning(self._engine(), question, self._embedder)

    @check_arguments
    def page(self, offset: int | None = None, limit: int | None = None) -> SearchResult:
        """Return a page of hits with totals and facets, by default the page of the question.

        If no document has all words, returns documents with most of them (`most_words`). Hits of
        different URLs with the same text refer to the first of them (`copy_of`).
        """
        asked = self._asked
        offset = asked.offset if offset is None else offset
        limit = asked.limit if limit is None else limit
        found = self._found(replace(asked, offset=offset, limit=limit))
        return _with_copies(found) if asked.collapse is Collapse.URL else found

    def rows_between(self, start: int, stop: int | None) -> list[Hit]:
        if stop is None:
            return list(islice(self, start, None))
        from nwx.exports.captures import RESULTS_AT_ONCE

        found: list[Hit] = []
        while (offset := start + len(found)) < stop:
            wanted = min(stop - offset, RESULTS_AT_ONCE)
            hits = self.page(offset, wanted).hits
            found += hits
            if len(hits) < wanted:
                break
        return found

    @check_arguments
    def scroll(self, limit: int | None = None) -> Iterator[Hit]:
        """Stream every matching version, unordered and without snippets."""
        if self.question.by is not SearchBy.WORDS:
            raise UsageError("only searches by words can be streamed")
        asked = answered_question(self._asked, lambda: self._first.most_words)
        return first_of(self._engine().scroll(asked), limit)

    @cached_property
    def facets(self) -> Mapping[str, tuple[FacetValue, ...]]:
        """The values of the requested facets, or of all, with their document counts."""
        names = self.question.facets or tuple(FILTERS)
        found = self._found(replace(self._asked, facets=names, limit=0)).facets
        return {name: found[FILTERS[name]] for name in FILTERS if FILTERS[name] in found}

    @check_arguments
    def explain(self, limit: int = 10) -> list[str]:
        """Return explanations of the scores of the first hits, one line each."""
        from nwx.searching.answers import score_words

        check_limit(limit)
        return [f"{hit.url}: {score_words(hit)}" for hit in self[:limit]]

    def did_you_mean(self, found: SearchResult | None = None) -> str:
        """Return a spelling correction of a query with few hits, "" without one."""
        from nwx.searching.suggestions import FEW_RESULTS, corrected_query

        asked, found = self.question, found or self._first
        if found.total.value > FEW_RESULTS and not found.most_words:
            return ""
        if not asked.text or asked.offset:
            return ""
        return corrected_query(self._engine(), asked.text)

    def cells(self, row: Hit) -> Sequence[object]:
        return (
            row.url,
            row.title,
            row.dates[0] if row.dates else "",
            row.dates[-1] if row.dates else "",
            len(row.dates),
            row.versions,
            row.status_code,
            row.content_type_norm,
            row.content_language,
            row.content_length,
            row.digest,
            row.collections,
            row.score,
            "".join(text for text, _ in row.snippet),
            row.id,
        )

    def frames(self) -> Iterator["pl.DataFrame"]:
        return frames_of(_COLUMNS, map(self.cells, self))

    @check_arguments
    def write(
        self,
        path: str | PathLike[str],
        form: str,
        fields: Sequence[str] = (),
        *,
        excel: bool = False,
    ) -> int:
        """Write all hits as csv, json or txt (URLs), with the given fields; return their number.

        With `excel`, the file begins with a byte order mark.
        """
        with whole_file(Path(path)) as stream:

            def write(text: str) -> object:
                return stream.write(text.encode("utf-8", "replace"))

            write(BYTE_ORDER_MARK if excel else "")
            return self.write_to(write, form, fields)

    def write_to(
        self, write: Callable[[str], object], form: str, fields: Sequence[str] = ()
    ) -> int:
        """Pass the output of `write` to a function, in pieces; return the number of hits."""
        from nwx.exports.captures import RESULT_FORMATS, checked_fields

        count = 0

        def hits() -> Iterator[Hit]:
            nonlocal count
            for hit in self:
                count += 1
                yield hit

        _, pieces = RESULT_FORMATS.get(form, ("", plugin("exporters", form)))
        if pieces is None:
            raise UsageError(f"there is no format {form!r}; use {', '.join(RESULT_FORMATS)}")
        for piece in pieces(hits(), checked_fields(fields)):
            write(piece)
        return count

    def chart(self) -> str:
        """Return a chart of documents by year as SVG."""
        years = self._found(replace(self._asked, facets=("year",), limit=0)).facets
        return bar_chart(
            {one.value: one.count for one in sorted(years.get("year", ()), key=_value)}
        )


def _with_copies(found: SearchResult) -> SearchResult:
    first: dict[tuple[str, str], str] = {}
    hits = []
    for hit in found.hits:
        is_error = (hit.status_code or 0) >= FIRST_REDIRECT
        same = hit.id if is_error else hit.signature or hit.digest or hit.id
        copied = first.setdefault((hit.title, same), hit.id)
        hits.append(hit if copied == hit.id else replace(hit, copy_of=copied))
    return replace(found, hits=tuple(hits))


def _value(one: FacetValue) -> str:
    return one.value
