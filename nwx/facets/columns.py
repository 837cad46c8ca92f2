"""The data of facet answers: columns of captures, and stored combinations."""

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
from cachetools import LRUCache

from nwx.bulk.arrays import Array
from nwx.engine.document_index import current_work
from nwx.facets.codes import MonthColumns
from nwx.facets.criteria import CUBE, Criterion, grouping_name
from nwx.facets.question import (
    STORED_FEATURES,
    FacetCondition,
    FacetQuestion,
    FacetRow,
    Feature,
    Features,
)
from nwx.facets.stored_build import VARIED_ROWS, Build

_Counts = TypeVar("_Counts")

KEPT_GROUPS = 500_000
"""The most groups of lists in a cache; each takes about 60 bytes."""


class KeptCounts:
    """A thread-safe LRU cache of counts of the same columns."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._kept: LRUCache[Hashable, Any] = LRUCache(KEPT_GROUPS, getsizeof=_groups)

    def get(self, key: Hashable, count: Callable[[], _Counts]) -> _Counts:
        """Return the cached value of a key, or the result of `count`, which is then cached."""
        with self._guard:
            kept: _Counts | None = self._kept.get(key)
        if kept is not None:
            return kept
        counts = count()
        if _groups(counts) <= self._kept.maxsize:
            with self._guard:
                self._kept[key] = counts
        return counts


def _groups(counts: object) -> int:
    return max(1, len(counts)) if isinstance(counts, Sized) else 1


AllowedCodes = Mapping[Criterion, Array]
"""For each criterion that conditions name, which of its codes they accept (bool, by code)."""

_FEW = 0.1
_COMPARED = 4
_AT_MOST_CAPTURES = (Feature.CAPTURES, Feature.UNIQUE_DOCUMENTS, Feature.UNIQUE_URLS)
_AT_MOST_BYTES = (Feature.BYTES, Feature.UNIQUE_BYTES)


@dataclass(frozen=True, slots=True)
class MonthRows:
    """Some captures of a month: `rows` are their positions in order, None means all."""

    month: str
    columns: MonthColumns
    rows: Array | None

    def __len__(self) -> int:
        return len(self.columns["status"] if self.rows is None else self.rows)

    def take(self, name: str) -> Array:
        """Return a column of the captures."""
        return self.columns[name] if self.rows is None else self.columns[name][self.rows]


class FacetColumns:
    """Columns of captures by month, and the stored combinations of these captures.

    `sizes` (unsigned, by document number) are the bytes of documents, 0 if their captures differ;
    the rows of these captures are `varied`, by month. `urls` is the count of URL numbers.
    `groupings` have the combinations of at least `min_captures` captures, columns by grouping.
    `kept` caches counts of the columns, by conditions and lists.
    """

    def __init__(
        self,
        months: dict[str, MonthColumns],
        sizes: Array,
        varied: Mapping[str, Array],
        urls: int,
        read_labels: Callable[[str], list[str]],
        groupings: dict[str, dict[str, Array]] | None = None,
        min_captures: int = 1,
    ) -> None:
        self.months, self.sizes, self.urls = months, sizes, urls
        self.groupings, self.min_captures = groupings or {}, min_captures
        self._varied, self._read_labels = varied, read_labels
        self.kept = KeptCounts()
        self._labels: dict[str, list[str]] = {}
        self._codes: dict[Criterion, dict[str, int]] = {}

    @classmethod
    def of_build(cls, build: Build) -> Self:
        """Return the columns and combinations of a build, mapped into memory.

        The files of the build may be removed afterwards.
        """
        notes = build.notes
        months = {name: build.month(name) for name in notes.months}
        arrays = build.arrays(notes.sizes)
        return cls(
            months,
            arrays["sizes"],
            {name.removeprefix(VARIED_ROWS): rows for name, rows in arrays.items()},
            notes.ids["url"],
            build.labels(),
            build.groupings(),
            notes.min_captures,
        )

    @property
    def documents(self) -> int:
        """The count of document numbers."""
        return len(self.sizes)

    def labels(self, name: str) -> list[str]:
        """Return the values of a criterion, or the archive files, by their codes."""
        if name not in self._labels:
            criterion = next((one for one in Criterion if one == name), None)
            if criterion is None or criterion.source is criterion:
                self._labels[name] = self._read_labels(name)
            else:
                values = map(criterion.definition.derive, self.labels(criterion.source))
                self._labels[name] = list(dict.fromkeys(values))
        return self._labels[name]

    def varied_rows(self, month: str) -> Array:
        """Return the rows of a month whose documents have captures of several sizes."""
        return self._varied.get(month, np.zeros(0, dtype=np.int64))

    def codes(self, some: MonthRows, criterion: Criterion) -> Array | int:
        """Return the codes of captures: a column, or a single code common to all."""
        source = criterion.source
        if source is Criterion.MONTH:
            found: Array | int = self.labels(source).index(some.month)
        else:
            found = some.take(source)
        return found if source is criterion else self._derived_codes(criterion)[found]

    def allowed(self, where: Sequence[FacetCondition]) -> dict[Criterion, Array]:
        """Return the codes that all conditions accept, by criterion with a column (bool)."""
        found: dict[Criterion, Array] = {}
        for condition in where:
            criterion = condition.criterion
            accepted = self._accepted(condition)
            if criterion.source is not criterion:
                accepted = accepted[self._derived_codes(criterion)]
            known = found.get(criterion.source)
            found[criterion.source] = accepted if known is None else known & accepted
        return found

    def _accepted(self, condition: FacetCondition) -> Array:
        labels = self.labels(condition.criterion)
        if condition.is_span:
            return np.array([condition.accepts(value) for value in labels], dtype=bool)
        accepted = np.zeros(len(labels), dtype=bool)
        codes = self._code_of(condition.criterion)
        accepted[[codes[value] for value in condition.values if value in codes]] = True
        return ~accepted if condition.negated else accepted

    def _code_of(self, criterion: Criterion) -> dict[str, int]:
        if criterion not in self._codes:
            labels = self.labels(criterion)
            self._codes[criterion] = {value: code for code, value in enumerate(labels)}
        return self._codes[criterion]

    def _derived_codes(self, criterion: Criterion) -> Array:
        """Return the code of a derived criterion for each code of its source."""
        codes, derive = self._code_of(criterion), criterion.definition.derive
        return np.array([codes[derive(value)] for value in self.labels(criterion.source)])

    def select(self, allowed: AllowedCodes) -> Iterator[MonthRows]:
        """Yield the captures whose codes are all allowed, month by month.

        Raises QuestionTimeoutError if the question must stop, like every counting function.
        """
        work = current_work()
        months = allowed.get(Criterion.MONTH)
        labels = self.labels(Criterion.MONTH)
        wanted = None if months is None else {labels[code] for code in np.flatnonzero(months)}
        others = [(name, fits) for name, fits in allowed.items() if name is not Criterion.MONTH]
        # The most selective condition first, so that few rows remain for the others.
        others.sort(key=lambda item: float(item[1].mean()))
        for month, columns in self.months.items():
            work.check()
            if wanted is None or month in wanted:
                rows = _rows(columns, others)
                if rows is None or len(rows):
                    yield MonthRows(month, columns, rows)

    def stored_total(self, allowed: AllowedCodes) -> Features | None:
        """Return the features of a combination, None if it is not stored."""
        codes = _single_codes(allowed)
        columns = None if codes is None else self.groupings.get(grouping_name(codes))
        if codes is None or columns is None:
            return None
        rows = _matching(columns, codes)
        return _features(columns, int(rows[0])) if len(rows) else None

    def stored_rows(
        self, question: FacetQuestion, allowed: AllowedCodes
    ) -> tuple[list[FacetRow], int | None] | None:
        """Return the first rows of a list and their total, if the stored combinations suffice.

        None if the first rows may be missing: combinations that are not stored have few captures,
        but may sort before stored ones.
        """
        by = question.by
        others = {name: fits for name, fits in allowed.items() if name not in by}
        codes, parent = _single_codes(others), self.stored_total(others)
        if codes is None or parent is None or not set(by) <= set(CUBE):
            return None
        columns = self.groupings.get(grouping_name({*codes, *by}))
        if columns is None:
            return None
        rows = _matching(columns, codes)
        lacking = parent.captures - int(columns["captures"][rows].sum(dtype=np.int64))
        lacking_bytes = parent.bytes - int(columns["bytes"][rows].sum(dtype=np.int64))
        for name in by:
            if name in allowed:
                rows = rows[allowed[name][columns[name][rows]]]
        if lacking and not self._are_first(question, columns, rows, lacking_bytes):
            return None
        found = None if lacking else len(rows)
        return self._named(by, columns, candidate_rows(question, columns, rows)), found

    def _are_first(
        self,
        question: FacetQuestion,
        columns: Mapping[str, Array],
        rows: Array,
        lacking_bytes: int,
    ) -> bool:
        """Return whether no combination that is not stored can be among the first rows."""
        if question.limit is None or question.reverse or len(rows) < question.limit:
            return False
        if question.sort in _AT_MOST_CAPTURES:
            highest = self.min_captures - 1
        elif question.sort in _AT_MOST_BYTES:
            highest = lacking_bytes
        else:
            return False
        values = np.sort(columns[question.sort][rows])
        return question.limit == 0 or int(values[-question.limit]) > highest

    def _named(
        self, by: Sequence[Criterion], columns: Mapping[str, Array], rows: Array
    ) -> list[FacetRow]:
        labels = [self.labels(name) for name in by]
        codes = [columns[name][rows].tolist() for name in by]
        return [
            FacetRow(
                tuple(names[code[place]] for names, code in zip(labels, codes, strict=True)),
                _features(columns, int(row)),
            )
            for place, row in enumerate(rows)
        ]


def candidate_rows(question: FacetQuestion, columns: Mapping[str, Array], rows: Array) -> Array:
    """Return the rows that can be among the first of a list, all if there are few."""
    limit, sort = question.limit, question.sort
    if not limit or sort is None or sort not in STORED_FEATURES or len(rows) <= limit:
        return rows
    values = columns[sort][rows].astype(np.int64)
    edge = np.partition(values, limit - 1 if question.reverse else -limit)
    fits = values <= edge[limit - 1] if question.reverse else values >= edge[-limit]
    kept: Array = rows[fits]
    return kept


def _single_codes(allowed: AllowedCodes) -> dict[Criterion, int] | None:
    """Return the single allowed code of each criterion, None if no stored combination fits."""
    found = {}
    for name, fits in allowed.items():
        codes = np.flatnonzero(fits)
        if len(codes) != 1:
            return None
        found[name] = int(codes[0])
    stored = Criterion.STATUS in found and set(found) <= {Criterion.STATUS, *CUBE}
    return found if stored else None


def _matching(columns: Mapping[str, Array], codes: Mapping[Criterion, int]) -> Array:
    mask = np.ones(len(columns["status"]), dtype=bool)
    for name, code in codes.items():
        mask &= columns[name] == code
    return np.flatnonzero(mask)


def _features(columns: Mapping[str, Array], row: int) -> Features:
    return Features(**{name: int(columns[name][row]) for name in STORED_FEATURES})


def _rows(columns: MonthColumns, conditions: Sequence[tuple[Criterion, Array]]) -> Array | None:
    """Return the rows that meet all conditions, None if all rows do."""
    mask: Array | None = None
    rows: Array | None = None
    for name, fits in conditions:
        if rows is not None:
            rows = rows[_fitting(columns[name][rows], fits)]
            continue
        found = _fitting(columns[name], fits)
        mask = found if mask is None else mask & found
        if np.count_nonzero(mask) < _FEW * len(mask):
            rows = np.flatnonzero(mask)
    if rows is None and mask is not None and not mask.all():
        rows = np.flatnonzero(mask)
    return rows


def _fitting(codes: Array, fits: Array) -> Array:
    """Return which codes fit; comparisons are much faster than look-ups."""
    places = np.flatnonzero(fits)
    others = np.flatnonzero(~fits)
    if not len(places) or not len(others):
        return np.full(len(codes), len(others) == 0)
    low, high = int(places[0]), int(places[-1])
    if high - low + 1 == len(places):
        return (codes >= low) & (codes <= high) if low < high else codes == low
    if len(others) <= _COMPARED:
        return ~_one_of(codes, others)
    if len(places) <= _COMPARED:
        return _one_of(codes, places)
    found: Array = fits[codes]
    return found


def _one_of(codes: Array, some: Array) -> Array:
    found: Array = codes == some[0]
    for code in some[1:]:
        found |= codes == code
    return found
