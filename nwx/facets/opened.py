"""A build, opened to answer questions."""

from collections.abc import Callable, Mapping
from typing import Self

import numpy as np

from nwx.engine.arrays import Array
from nwx.errors import UsageError
from nwx.facets.criteria import DESCRIPTIONS, UNKNOWN, Criterion
from nwx.facets.payloads import ROWS, PayloadColumns
from nwx.facets.question import FacetCondition
from nwx.facets.stored_build import Build


class Opened:
    """Columns of captures by month, and the combinations that are stored of them.

    `sizes` are the bytes of documents by their numbers, 0 of those whose
    captures differ; `urls` is how many numbers of URLs there are.
    `groupings` have combinations of `least` captures and more.
    """

    def __init__(
        self,
        months: dict[str, PayloadColumns],
        sizes: Array,
        varied: Mapping[str, Array],
        urls: int,
        read_labels: Callable[[str], list[str]],
        groupings: dict[str, dict[str, Array]],
        least: int = 1,
    ) -> None:
        self.months, self.sizes, self.urls = months, sizes, urls
        self.groupings, self.least = groupings, least
        self._varied, self._read_labels = varied, read_labels
        self._labels: dict[str, list[str]] = {}
        self._codes: dict[Criterion, dict[str, int]] = {}

    @classmethod
    def of_build(cls, build: Build) -> Self:
        """Return the columns and combinations of a build, mapped into memory.

        The files of the build may be removed then.
        """
        notes = build.notes
        months = {name: build.month(name) for name in notes.months}
        arrays = build.arrays(notes.sizes)
        varied = {name.removeprefix(ROWS): rows for name, rows in arrays.items()}
        urls, least = notes.ids["url"], notes.min_captures
        return cls(months, arrays["sizes"], varied, urls, build.labels(), build.groupings(), least)

    def labels(self, name: str) -> list[str]:
        """Return the values of a criterion, or the archive files, by their codes."""
        if name not in self._labels:
            self._labels[name] = self._read_labels(name)
        return self._labels[name]

    def varied_rows(self, month: str) -> Array:
        """Return the rows of a month whose documents have captures of several sizes."""
        return self._varied.get(month, np.zeros(0, dtype=np.int64))

    @property
    def documents(self) -> int:
        """How many numbers of documents there are."""
        return len(self.sizes)

    def allowed(self, criterion: Criterion, conditions: list[FacetCondition]) -> Array:
        """Tell of each code of a criterion whether all conditions take it."""
        found = np.ones(len(self.labels(criterion)), dtype=bool)
        for condition in conditions:
            fits = self._fitting(condition)
            found &= ~fits if condition.negated else fits
        return found

    def _fitting(self, condition: FacetCondition) -> Array:
        labels = self.labels(condition.criterion)
        if condition.is_span:
            return np.array([in_span(value, condition) for value in labels], dtype=bool)
        fits = np.zeros(len(labels), dtype=bool)
        codes = self._code_of(condition.criterion)
        fits[[codes[value] for value in condition.values if value in codes]] = True
        return fits

    def _code_of(self, criterion: Criterion) -> dict[str, int]:
        if criterion not in self._codes:
            labels = self.labels(criterion)
            self._codes[criterion] = {value: code for code, value in enumerate(labels)}
        return self._codes[criterion]


def in_span(value: str, condition: FacetCondition) -> bool:
    """Tell whether a value lies in the span of a condition; the unknown lies in none."""
    if value == UNKNOWN:
        return False
    low, high = condition.low, condition.high
    if condition.criterion is Criterion.MONTH:
        return (not low or value >= low) and (not high or value[: len(high)] <= high)
    values = DESCRIPTIONS[condition.criterion].values
    place = values.index(value)
    return (not low or place >= _place(values, low)) and (not high or place <= _place(values, high))


def _place(values: tuple[str, ...], value: str) -> int:
    if value not in values:
        raise UsageError(f"{value!r} is none of {', '.join(values)}")
    return values.index(value)
