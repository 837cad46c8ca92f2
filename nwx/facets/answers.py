"""Answers to facet questions, each in the fastest exact way."""

import threading
import time
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from nwx.access.restricted_stores import RestrictedFacetStore
from nwx.bulk.arrays import Array, narrow
from nwx.bulk.resources import temporary_folder
from nwx.engine.base import Engine
from nwx.engine.document_index import Work, working
from nwx.engine.facet_store import BlobFolder, CapturePlace
from nwx.errors import EngineError
from nwx.facets.codes import ARCHIVE_FILE, MonthColumns, document_sizes, resolve_revisits
from nwx.facets.columns import AllowedCodes, FacetColumns, candidate_rows
from nwx.facets.criteria import Criterion
from nwx.facets.feature_counts import count_features
from nwx.facets.groups import count_groups
from nwx.facets.live import PLACE_FIELDS, estimate, look_up
from nwx.facets.question import (
    AnsweredBy,
    FacetAnswer,
    FacetCondition,
    FacetQuestion,
    FacetRow,
    Features,
)
from nwx.facets.sites import Sites
from nwx.facets.stored_build import Build, current_build, fetched_build, with_fetched
from nwx.model import Capture, IndexName

OffsetsByFile = Mapping[str, "array[int]"]
"""Offsets of captures by `<collection>/<file name>`."""

_OFFSET = "offset"
_REVISIT_ROWS = "revisit_rows"
_OWN = "own_"


def visible_columns(columns: FacetColumns, hidden: OffsetsByFile) -> FacetColumns:
    """Return columns without the hidden captures, and without stored combinations.

    Numbers of documents and URLs are unchanged. Months without hidden captures, and without
    revisits of hidden ones, are shared with `columns`.
    """
    offsets = {
        code: np.sort(np.frombuffer(hidden[name], dtype=np.int64))
        for code, name in enumerate(columns.labels(ARCHIVE_FILE))
        if name in hidden
    }
    months, varied = {}, {}
    originals: list[Array] = [np.zeros(0, dtype=np.uint8)]
    for month, part in columns.months.items():
        hidden_rows = _hidden_rows(part, offsets)
        rows = columns.varied_rows(month)
        if not hidden_rows.any():
            months[month], varied[month] = part, rows
        elif not hidden_rows.all():
            kept = ~hidden_rows
            months[month], varied[month] = _kept_rows(part, kept), _moved(rows, kept)
        hidden_rows[part[_REVISIT_ROWS]] = False
        originals.append(part["digest"][hidden_rows])
    sizes, gone = columns.sizes, np.unique(np.concatenate(originals))
    lacking = {
        month: _with_own_payloads(part)
        for month, part in months.items()
        if np.isin(part["digest"][part[_REVISIT_ROWS]], gone).any()
    }
    if lacking:
        months |= lacking
        resolved = resolve_revisits(months, columns.labels(Criterion.TYPE))
        for month, part in resolved.items():
            months[month] = {name: narrow(column) for name, column in part.items()}
        sizes, _, varied = document_sizes(months, columns.documents)
    return FacetColumns(months, sizes, varied, columns.urls, columns.labels)


def _with_own_payloads(part: MonthColumns) -> MonthColumns:
    """Return the columns of a month with the values in the revisits' own records."""
    restored = dict(part)
    for name, own in part.items():
        if name.startswith(_OWN):
            column = part[name.removeprefix(_OWN)]
            column = column.astype(np.result_type(column, own))
            column[part[_REVISIT_ROWS]] = own
            restored[name.removeprefix(_OWN)] = column
    return restored


def _hidden_rows(part: MonthColumns, offsets: Mapping[int, Array]) -> Array:
    files, places = part[ARCHIVE_FILE], part[_OFFSET]
    found = np.zeros(len(files), dtype=bool)
    rows = np.flatnonzero(np.isin(files, list(offsets)))
    rows = rows[np.argsort(files[rows], kind="stable")]
    codes, starts = np.unique(files[rows], return_index=True)
    for code, some in zip(codes.tolist(), np.split(rows, starts[1:]), strict=False):
        found[some] = np.isin(places[some], offsets[code])
    return found


def _kept_rows(part: MonthColumns, kept: Array) -> MonthColumns:
    revisits = part[_REVISIT_ROWS]
    of_revisits = kept[revisits]
    columns = {}
    for name, column in part.items():
        if name == _REVISIT_ROWS:
            columns[name] = _moved(revisits, kept)
        else:
            columns[name] = column[of_revisits if name.startswith(_OWN) else kept]
    return columns


def _moved(rows: Array, kept: Array) -> Array:
    """Return the new positions of the kept ones of `rows` after removing all other rows."""
    places = np.cumsum(kept) - 1
    found: Array = places[rows[kept[rows]]]
    return found


MOST_READ = 3_000_000
"""The most captures read to answer questions; more require `nwx build-facets`."""

_Found = tuple[Features, tuple[FacetRow, ...], int | None, AnsweredBy]
"""The total, the rows, the number of rows before the limit, and how they were found."""


class FacetAnswers:
    """Answers the facet questions of an archive; thread-safe.

    Answers are always current. If the stored build is not, the engine looks up the captures of a
    question if they are few; otherwise everything imported since the build is read, once for all
    questions until the next import.
    """

    def __init__(self, engine: Engine) -> None:
        self._store = engine.facet_store()
        self._current = _CurrentColumns(engine)

    def answer(self, question: FacetQuestion, *, approximate: bool = False) -> FacetAnswer:
        """Return the answer to a question.

        With `approximate`, features that would be counted live are estimated, if the engine
        supports it. Raises EngineError if the stored build is not current and too many captures
        would have to be read without it.
        """
        began = time.perf_counter()
        state = self._current.state()
        found = self._estimated(state, question) if approximate else None
        if found is None:
            columns = self._columns(state, question.where, question.by)
            found = _answer(columns, question, live=state.live)
        took_ms = (time.perf_counter() - began) * 1000
        return FacetAnswer(question, *found, took_ms)

    def captures(
        self, where: tuple[FacetCondition, ...], offset: int = 0, limit: int = 50
    ) -> tuple[int, list[Capture]]:
        """Return the number of captures that meet all conditions, and a page of them, by month.

        Within a month they are in order of archive file and offset. Raises EngineError like
        `answer`.
        """
        columns = self._columns(self._current.state(), where, (), PLACE_FIELDS)
        selected = list(columns.select(columns.allowed(where)))
        places: list[CapturePlace] = []
        files = columns.labels(ARCHIVE_FILE)
        _, ranks = np.unique(np.array(files, dtype=object), return_inverse=True)
        for some in selected:
            wanted = slice(offset, offset + limit - len(places))
            if wanted.start < min(wanted.stop, len(some)):
                codes, offsets = some.take(ARCHIVE_FILE), some.take("offset")
                # The order of a build, by URL, would reveal hidden captures, and codes differ
                # each time that columns are read.
                order = np.lexsort((offsets, ranks[codes]))[wanted]
                places += ((files[codes[one]], int(offsets[one])) for one in order)
            offset = max(0, offset - len(some))
        return sum(map(len, selected)), self._store.captures_at(places)

    def _columns(
        self,
        state: "_State",
        where: Sequence[FacetCondition],
        by: Sequence[Criterion],
        also: Sequence[str] = (),
    ) -> FacetColumns:
        if state.columns is not None:
            return state.columns
        selecting = self._store.live_selection()
        if selecting is not None:
            with selecting as selection:
                found = look_up(selection, where, by, state.sites, also)
            if found is not None:
                return found
        return self._current.read(state)

    def _estimated(self, state: "_State", question: FacetQuestion) -> _Found | None:
        """Return an estimate, None if the build is current or estimates are not supported."""
        named = {*question.by, *(condition.criterion for condition in question.where)}
        if state.columns is not None or (state.sites and Criterion.SITE in named):
            return None
        selecting = self._store.live_selection()
        if selecting is None:
            return None
        with selecting as selection:
            total, rows, found = estimate(selection, question)
        return total, question.ordered(rows), found, AnsweredBy.APPROXIMATE


def _answer(columns: FacetColumns, question: FacetQuestion, *, live: bool) -> _Found:
    allowed = columns.allowed(question.where)
    total = columns.stored_total(allowed)
    listed = columns.stored_rows(question, allowed) if question.by else ([], 0)
    way = AnsweredBy.LIVE if live else AnsweredBy.STORED
    if total is None or listed is None:
        way = AnsweredBy.LIVE if live else AnsweredBy.COLUMNS
        total, listed = _counted(columns, question, allowed, total, listed)
    rows, found = listed
    return total, question.ordered(rows), found, way


_Listed = tuple[list[FacetRow], int | None]


def _counted(
    columns: FacetColumns,
    question: FacetQuestion,
    allowed: AllowedCodes,
    total: Features | None,
    listed: _Listed | None,
) -> tuple[Features, _Listed]:
    """Return the total and the list of a question; missing ones are counted.

    Counts are cached: the same lists are requested again in other orders and forms.
    """
    key = tuple(sorted((name, fits.tobytes()) for name, fits in allowed.items()))
    if total is None:
        total = columns.kept.get(
            key, lambda: count_features(columns, list(columns.select(allowed)))
        )
    if listed is None:
        groups = columns.kept.get(
            (key, question.by),
            lambda: count_groups(columns, list(columns.select(allowed)), question.by),
        )
        places = candidate_rows(question, groups.features, np.arange(len(groups)))
        listed = groups.rows(columns, places), len(groups)
    return total, listed


@dataclass(frozen=True, slots=True)
class _State:
    """The columns of all captures at one moment, `live` unless they belong to a build.

    `mark` identifies the moment. `columns` are None if captures would have to be read for them.
    `build` is the last build, whose blobs may be on another machine.
    """

    mark: tuple[str, str]
    build: Build | None
    columns: FacetColumns | None = None
    live: bool = True

    @property
    def sites(self) -> Sites | None:
        """The list of sites of the last build, None without one."""
        found = self.build.notes.sites if self.build else {}
        return Sites(found) if found else None


class _CurrentColumns:
    """The columns of an archive, opened once for all questions until captures change."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._shown = engine.facet_store()
        # Hidden captures are removed from the columns of the whole store.
        shown = self._shown
        self._store = shown.whole if isinstance(shown, RestrictedFacetStore) else shown
        self._guard = threading.Lock()
        self._known = _State(("", ""), None)

    def state(self) -> _State:
        mark = self._shown.stamp(), self._store.version()
        with self._guard:
            if self._known.mark != mark:
                self._known = self._opened(mark)
            return self._known

    def _opened(self, mark: tuple[str, str]) -> _State:
        build = current_build(self._store)
        stamp = self._store.stamp()
        if build is None or build.notes.stamp != stamp:
            return _State(mark, build)
        opened = with_fetched(self._store, lambda one: (one, FacetColumns.of_build(one)))
        if opened is None or opened[0].notes.stamp != stamp:
            return _State(mark, build)
        return _State(mark, opened[0], self._visible(opened[1]), live=False)

    def _visible(self, columns: FacetColumns) -> FacetColumns:
        if not isinstance(self._shown, RestrictedFacetStore):
            return columns
        return visible_columns(columns, self._shown.hidden_places())

    def read(self, state: _State) -> FacetColumns:
        """Return columns of all captures, including changes since the last build.

        They are cached for other questions, so that the work of a question that exceeds its
        deadline is not lost. Raises EngineError if too many captures would have to be read.
        """
        with self._guard:
            if self._known.mark == state.mark and self._known.columns is not None:
                return self._known.columns
            with working(Work()):  # without the question's deadline: it serves all questions
                columns = self._made()
            self._known = replace(state, columns=columns)
            return columns

    def _made(self) -> FacetColumns:
        # Imported here, as most processes never build.
        from nwx.facets.build import FacetBuildOptions, build_facets
        from nwx.facets.sources import ArchiveCaptures

        build = fetched_build(self._store)
        known = build.notes.captures if build else 0
        new = self._engine.count(IndexName.CAPTURES) - known
        if new > MOST_READ:
            raise EngineError.translated(
                "%(new)s captures were imported since facets were built; run `nwx build-facets`",
                new=new,
            )
        with temporary_folder() as folder:
            store = BlobFolder(folder)
            if build:
                _link(build, store)
            options = FacetBuildOptions(combinations=False)
            report = build_facets(ArchiveCaptures(self._store), store, options)
            return self._visible(FacetColumns.of_build(report.build))


def _link(build: Build, store: BlobFolder) -> None:
    """Make a build the current one of another folder, with links to its blobs."""
    for name in build.stored.blobs:
        (store.folder / name).symlink_to(build.path(name).resolve())
    store.swap(build.stored, "")
