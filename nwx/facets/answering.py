"""Facet questions answered, each the fastest way that is exact."""

import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from nwx.engine.arrays import Array
from nwx.engine.base import Engine
from nwx.engine.cube import Build, Place, write_manifest
from nwx.errors import EngineError
from nwx.facets import counting, stored
from nwx.facets.criteria import DESCRIPTIONS, UNKNOWN, Criterion
from nwx.facets.labels import SOURCE
from nwx.facets.opened import Opened
from nwx.facets.question import (
    AnsweredBy,
    Condition,
    FacetAnswer,
    FacetQuestion,
    FacetRow,
    Features,
)
from nwx.model import Capture, IndexName

MOST_READ = 3_000_000
"""So many captures are read for a question at most; more want `nwx build-facets`."""


class Facets:
    """What answers the facet questions of an archive; threads may share it.

    Answers are of the captures as they are now: what was imported since the
    last build is read when a question comes, once for all questions until
    the next import.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._cube = engine.cube()
        self._guard = threading.Lock()
        self._state = ("", "")
        self._opened: Opened | None = None
        self._fresh = False

    def answer(self, question: FacetQuestion, *, approximate: bool = False) -> FacetAnswer:
        """Return the answer to a question.

        With `approximate`, unique counts that would have to be counted live
        are estimates where the engine has a faster way to them.
        Raises EngineError where so much was imported since the last build
        that it must be done again.
        """
        began = time.perf_counter()
        opened, fresh = self._current()
        allowed = _allowed(opened, question.where)
        total, rows, found, by = _answer(opened, question, allowed)
        if fresh:
            by = AnsweredBy.LIVE
        took_ms = (time.perf_counter() - began) * 1000
        return FacetAnswer(question, total, rows, found, by, took_ms)

    def captures(
        self, where: tuple[Condition, ...], offset: int = 0, limit: int = 50
    ) -> tuple[int, list[Capture]]:
        """Return how many captures meet all conditions, and some of them, month by month."""
        opened, _ = self._current()
        chosen = list(counting.choose(opened, _allowed(opened, where)))
        places: list[Place] = []
        sources = opened.labels(SOURCE)
        for one in chosen:
            wanted = slice(offset, offset + limit - len(places))
            codes, offsets = one.take(SOURCE)[wanted], one.take("offset")[wanted]
            places += zip((sources[code] for code in codes), offsets.tolist(), strict=True)
            offset = max(0, offset - len(one))
        return sum(map(len, chosen)), self._cube.captures(places)

    def _current(self) -> tuple[Opened, bool]:
        """Return the columns of now, and whether they were made for this question."""
        state = self._cube.stamp(), self._cube.version()
        with self._guard:
            if self._opened is None or self._state != state:
                build = self._cube.fetch()
                if build is not None and build.stamp == state[0]:
                    self._opened, self._fresh = Opened(build), False
                else:
                    self._opened, self._fresh = self._freshly(build), True
                self._state = state
            return self._opened, self._fresh

    def _freshly(self, build: Build | None) -> Opened:
        """Return columns made anew of what changed since the last build."""
        from nwx.facets.building import BuildOptions, build_facets
        from nwx.facets.sources import CubeSource

        known = int(build.manifest["captures"]) if build else 0
        new = self._engine.count(IndexName.CAPTURES) - known
        if new > MOST_READ:
            raise EngineError(
                f"{new:,} captures were imported since facets were built; run `nwx build-facets`"
            )
        with tempfile.TemporaryDirectory(prefix="nwx-facets-") as folder:
            if build:
                _link(build, Path(folder))
            options = BuildOptions(cube=False)
            source = CubeSource(self._cube)
            return Opened(build_facets(source, Path(folder), options).build, whole=True)


def _link(build: Build, folder: Path) -> None:
    """Put a build into another folder, by links where that goes."""
    for file in build.files:
        (folder / file).symlink_to((build.folder / file).resolve())
    write_manifest(folder, build.manifest)


def _allowed(opened: Opened, where: tuple[Condition, ...]) -> dict[Criterion, Array]:
    """Return for each criterion that is asked for which codes are allowed."""
    conditions: dict[Criterion, list[Condition]] = {}
    for condition in where:
        conditions.setdefault(condition.criterion, []).append(condition)
    return {name: opened.allowed(name, found) for name, found in conditions.items()}


def _answer(
    opened: Opened, question: FacetQuestion, allowed: Mapping[Criterion, Array]
) -> tuple[Features, tuple[FacetRow, ...], int | None, AnsweredBy]:
    total = stored.stored_total(opened, allowed)
    listed = stored.stored_rows(opened, question, allowed) if question.by else ([], 0)
    by = AnsweredBy.COLUMNS if total is None or listed is None else AnsweredBy.STORED
    if by is AnsweredBy.COLUMNS:
        chosen = list(counting.choose(opened, allowed))
        if total is None:
            total = counting.count(opened, chosen)
        if listed is None:
            counted = counting.count_groups(opened, chosen, question.by)
            listed = counted, len(counted)
    assert total is not None and listed is not None
    return total, ordered(question, listed[0]), listed[1], by


def ordered(question: FacetQuestion, rows: list[FacetRow]) -> tuple[FacetRow, ...]:
    """Return the rows of a list in its order, and as many as are wanted."""
    sort = question.sort

    def values(row: FacetRow) -> tuple[tuple[bool, int, str], ...]:
        return tuple(map(_value_order, question.by, row.values))

    rows = sorted(rows, key=values)
    if sort is None:
        rows = rows[::-1] if question.reverse else rows
    else:
        missing = float("inf") if question.reverse else float("-inf")

        def number(row: FacetRow) -> float:
            found = row.features.value(sort)
            return missing if found is None else found

        rows.sort(key=number, reverse=not question.reverse)
    return tuple(rows[: question.limit])


def _value_order(criterion: Criterion, value: str) -> tuple[bool, int, str]:
    values = DESCRIPTIONS[criterion].values
    return (value == UNKNOWN, values.index(value) if values else 0, value)
