"""The dates of documents of which a viewer sees some, and others not: kept as arrays."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nwx.engine.search_server.documents.conditions import DateCondition
from nwx.engine.search_server.further_dates import LAST_TIME, DateRows, Numbers, date_rows
from nwx.query.dates import Period
from nwx.query.hidden import SeenDate


@dataclass(frozen=True, slots=True)
class PartlyHidden:
    """A document by its number, and its dates, those that are seen and those that are hidden.

    `own_is_hidden` tells that the capture its entry was made from is.
    """

    number: int
    visible: Sequence[SeenDate]
    hidden: Sequence[SeenDate]
    own_is_hidden: bool


class PartlyHiddenDates:
    """The documents that are partly hidden, with their dates.

    A condition that a hidden date meets, and no date that is seen, is not
    met: `unmet` are those documents.
    """

    def __init__(self, documents: Iterable[PartlyHidden]) -> None:
        known = sorted(documents, key=lambda one: one.number)
        self.numbers: Numbers = np.array([one.number for one in known], dtype=np.int64)
        own = np.array([one.own_is_hidden for one in known], dtype=bool)
        self.own_hidden: Numbers = self.numbers[own] if len(known) else self.numbers
        self._lost: dict[str, Sequence[tuple[str, Numbers]]] = {}
        self._dates: dict[bool, Numbers] = {}
        self._orders: dict[bool, npt.NDArray[np.intp]] = {}
        self._codes: dict[str, int] = {}
        self._visible = date_rows([one.visible for one in known], self._codes)
        self._hidden = date_rows([one.hidden for one in known], self._codes)

    def unmet(self, one: DateCondition) -> Numbers:
        """Return the numbers of the documents that only hidden dates let meet a condition."""
        lost = self._hidden.meeting(one)
        return self.numbers[np.setdiff1d(lost, self._visible.meeting(one))]

    def lost_values(self, facet: str) -> Sequence[tuple[str, Numbers]]:
        """Return each value that only hidden dates have, and the documents of which they do.

        The facets are `year` and `collection`.
        """
        if facet not in self._lost:
            self._lost[facet] = tuple(self._lost_values(facet))
        return self._lost[facet]

    def _lost_values(self, facet: str) -> Iterator[tuple[str, Numbers]]:
        values: Callable[[DateRows], Numbers]
        if facet == "year":
            labels = None
            values = _years
        else:
            labels = list(self._codes)
            values = _collections
        lost = _pairs(self._hidden.places, values(self._hidden))
        kept = _pairs(self._visible.places, values(self._visible))
        rest = np.array(sorted(lost - kept), dtype=np.int64).reshape(-1, 2)
        for value in np.unique(rest[:, 1]).tolist():
            label = f"{value:04}" if labels is None else labels[value]
            yield label, self.numbers[rest[rest[:, 1] == value, 0]]

    def in_order(self, *, newest: bool) -> tuple[Numbers, Numbers]:
        """Return the documents by their newest or their oldest date that is seen, and those."""
        dates = self._firsts(newest=newest)
        if newest not in self._orders:
            self._orders[newest] = np.argsort(-dates if newest else dates, kind="stable")
        order = self._orders[newest]
        return self.numbers[order], dates[order]

    def first_date(self, number: int, *, newest: bool) -> str:
        """Return the newest or oldest date that is seen of a document, "" of all others."""
        place = int(np.searchsorted(self.numbers, number))
        if place == len(self.numbers) or self.numbers[place] != number:
            return ""
        return f"{self._firsts(newest=newest)[place]:014}"

    def _firsts(self, *, newest: bool) -> Numbers:
        if newest not in self._dates:
            dates = np.full(len(self.numbers), 0 if newest else LAST_TIME, dtype=np.int64)
            at = np.maximum.at if newest else np.minimum.at
            at(dates, self._visible.places, self._visible.times)
            self._dates[newest] = dates
        return self._dates[newest]


def _years(rows: DateRows) -> Numbers:
    return rows.periods(Period.YEAR)


def _collections(rows: DateRows) -> Numbers:
    return rows.collections


def _pairs(places: Numbers, values: Numbers) -> set[tuple[int, int]]:
    return set(zip(places.tolist(), values.tolist(), strict=True))
