"""Random facet questions, drawn from the captures they are about."""

import random
from collections.abc import Sequence
from typing import Any

from nwx.facets.criteria import CUBE, Criterion
from nwx.facets.question import FacetCondition, FacetQuestion, Feature
from nwx.facets.sources import PARQUET_COLUMNS

KINDS = ("large", "small", "span", "union", "list")

_LARGE = (Criterion.TYPE, Criterion.TLD, Criterion.SIZE, Criterion.DEPTH)
_LISTS = (
    (Criterion.MONTH,),
    (Criterion.SITE,),
    (Criterion.TYPE,),
    (Criterion.TLD,),
    (Criterion.DEPTH,),
    (Criterion.TYPE, Criterion.SIZE),
    (Criterion.MONTH, Criterion.STATUS),
)
_TOP = 20


def values_of(row: dict[str, Any]) -> dict[Criterion, str]:
    """Return the values of a row of an export."""
    definitions = [one.definition for one in (Criterion.STATUS, *CUBE)]
    columns = {one.name: PARQUET_COLUMNS[one.capture_field][0] for one in definitions}
    return {Criterion.named(one.name): one.of_value(row[columns[one.name]]) for one in definitions}


class Drawing:
    """Draws questions about values in rows, frequent ones more often than others."""

    def __init__(self, rows: Sequence[dict[str, Any]], seed: int) -> None:
        self._rows = list(map(values_of, rows))
        self._chance = random.Random(seed)

    def question(self, kind: str) -> FacetQuestion:
        """Return a random question of a kind."""
        match kind:
            case "large":
                return FacetQuestion(self._where(self._some(_LARGE, 1)))
            case "small":
                others = self._some((Criterion.MONTH, *_LARGE), self._chance.randrange(3))
                return FacetQuestion(self._where((Criterion.SITE, *others)))
            case "span":
                return FacetQuestion((self._span(), *self._where(self._some(_LARGE, 1))))
            case "union":
                return FacetQuestion(self._union())
        by = self._chance.choice(_LISTS)
        free = [
            name for name in (Criterion.STATUS, Criterion.TYPE, Criterion.TLD) if name not in by
        ]
        where = self._where(self._some(free, self._chance.randrange(2)), status=False)
        return FacetQuestion(where, by, Feature.CAPTURES, limit=_TOP)

    def combination(self) -> tuple[FacetCondition, ...]:
        """Return the conditions of a combination with at least one capture."""
        some = self._some(CUBE, self._chance.randrange(len(CUBE) + 1))
        return self._exact(self._row(), (Criterion.STATUS, *some))

    def _row(self) -> dict[Criterion, str]:
        return self._chance.choice(self._rows)

    def _some(self, criteria: Sequence[Criterion], number: int) -> list[Criterion]:
        return self._chance.sample(criteria, number)

    def _where(
        self, criteria: Sequence[Criterion], *, status: bool | None = None
    ) -> tuple[FacetCondition, ...]:
        if status is None:
            status = self._chance.random() < 0.5
        return self._exact(self._row(), [Criterion.STATUS, *criteria] if status else criteria)

    def _exact(
        self, row: dict[Criterion, str], criteria: Sequence[Criterion]
    ) -> tuple[FacetCondition, ...]:
        return tuple(FacetCondition(name, (row[name],)) for name in criteria)

    def _span(self) -> FacetCondition:
        name = self._chance.choice((Criterion.MONTH, Criterion.SIZE, Criterion.DEPTH))
        ends = [self._row()[name] for _ in range(2)]
        if name is Criterion.SIZE:
            ends.sort(key=Criterion.SIZE.definition.order)
        elif name is Criterion.DEPTH:
            known = [end for end in ends if end != "unknown"]
            ends = sorted(known, key=lambda end: int(end.rstrip("+"))) or ["0"]
        else:
            ends.sort()
        return FacetCondition(name, low=ends[0], high=ends[-1])

    def _union(self) -> tuple[FacetCondition, ...]:
        name = self._chance.choice((Criterion.SITE, Criterion.TLD, Criterion.TYPE))
        values = tuple(dict.fromkeys(self._row()[name] for _ in range(self._chance.randint(2, 8))))
        negated = name is not Criterion.SITE and self._chance.random() < 0.3
        status = FacetCondition(Criterion.STATUS, Criterion.STATUS.definition.values[:2])
        return (FacetCondition(name, values, negated=negated), status)
