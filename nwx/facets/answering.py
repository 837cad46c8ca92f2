"""Facet questions answered, each the fastest way that is exact."""

import time
from collections.abc import Mapping, Sequence

import numpy as np

from nwx.engine.arrays import Array
from nwx.engine.base import Engine
from nwx.engine.facet_store import CapturePlace
from nwx.facets import counting, stored
from nwx.facets.criteria import DESCRIPTIONS, UNKNOWN, Criterion
from nwx.facets.estimating import estimate
from nwx.facets.holding import Held, Holding
from nwx.facets.labels import SOURCE
from nwx.facets.live import PLACES, look_up
from nwx.facets.opened import Opened
from nwx.facets.question import (
    AnsweredBy,
    FacetAnswer,
    FacetCondition,
    FacetQuestion,
    FacetRow,
    Features,
)
from nwx.model import Capture

Found = tuple[Features, tuple[FacetRow, ...], int | None, AnsweredBy]
"""The total, the rows, how many there are, and how they were found."""


class FacetAnswers:
    """What answers the facet questions of an archive; threads may share it.

    Answers are of the captures as they are now. Where the build is not, the
    engine looks up those of a question, where they are few; else what was
    imported since the build is read, once for all questions until the next
    import.
    """

    def __init__(self, engine: Engine) -> None:
        self._store = engine.facet_store()
        self._holding = Holding(engine)

    def answer(self, question: FacetQuestion, *, approximate: bool = False) -> FacetAnswer:
        """Return the answer to a question.

        With `approximate`, what would have to be counted live is estimated,
        where the engine can do that.
        Raises EngineError where the build is not of now, and too much would
        have to be read to do without.
        """
        began = time.perf_counter()
        held = self._holding.look()
        found = self._estimated(held, question) if approximate else None
        if found is None:
            opened = self._opened(held, question.where, question.by)
            allowed = _allowed(opened, question.where)
            found = _answer(opened, question, allowed, live=held.live)
        took_ms = (time.perf_counter() - began) * 1000
        return FacetAnswer(question, *found, took_ms)

    def captures(
        self, where: tuple[FacetCondition, ...], offset: int = 0, limit: int = 50
    ) -> tuple[int, list[Capture]]:
        """Return how many captures meet all conditions, and some of them, month by month."""
        opened = self._opened(self._holding.look(), where, (), PLACES)
        chosen = list(counting.choose(opened, _allowed(opened, where)))
        places: list[CapturePlace] = []
        sources = opened.labels(SOURCE)
        for one in chosen:
            wanted = slice(offset, offset + limit - len(places))
            codes, offsets = one.take(SOURCE)[wanted], one.take("offset")[wanted]
            places += zip((sources[code] for code in codes), offsets.tolist(), strict=True)
            offset = max(0, offset - len(one))
        return sum(map(len, chosen)), self._store.captures_at(places)

    def _opened(
        self,
        held: Held,
        where: Sequence[FacetCondition],
        by: Sequence[Criterion],
        also: Sequence[str] = (),
    ) -> Opened:
        """Return the columns that a question is answered from."""
        if held.opened is not None:
            return held.opened
        selecting = self._store.live_selection()
        if selecting is not None:
            with selecting as selection:
                found = look_up(selection, where, by, held.sites, also)
            if found is not None:
                return found
        return self._holding.read(held)

    def _estimated(self, held: Held, question: FacetQuestion) -> Found | None:
        """Return an estimate, None where there is a build of now, or none can be given."""
        named = {*question.by, *(condition.criterion for condition in question.where)}
        if held.opened is not None or (held.sites and Criterion.SITE in named):
            return None
        selecting = self._store.live_selection()
        if selecting is None:
            return None
        with selecting as selection:
            total, rows, found = estimate(selection, question)
        return total, ordered(question, rows), found, AnsweredBy.APPROXIMATE


def _allowed(opened: Opened, where: tuple[FacetCondition, ...]) -> dict[Criterion, Array]:
    """Return for each criterion that is asked for which codes are allowed."""
    conditions: dict[Criterion, list[FacetCondition]] = {}
    for condition in where:
        conditions.setdefault(condition.criterion, []).append(condition)
    return {name: opened.allowed(name, found) for name, found in conditions.items()}


def _answer(
    opened: Opened, question: FacetQuestion, allowed: Mapping[Criterion, Array], *, live: bool
) -> Found:
    total = stored.stored_total(opened, allowed)
    listed = stored.stored_rows(opened, question, allowed) if question.by else ([], 0)
    by = AnsweredBy.COLUMNS if total is None or listed is None else AnsweredBy.STORED
    if by is AnsweredBy.COLUMNS:
        chosen = list(counting.choose(opened, allowed))
        if total is None:
            total = counting.count_features(opened, chosen)
        if listed is None:
            counted = counting.count_groups(opened, chosen, question.by)
            places = stored.cut(question, counted.features, np.arange(len(counted)))
            listed = counted.rows(opened, places), len(counted)
    assert total is not None and listed is not None
    by = AnsweredBy.LIVE if live else by
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
