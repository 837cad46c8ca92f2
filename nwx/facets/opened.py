"""A build, opened to answer questions."""

from functools import cached_property

import numpy as np

from nwx.engine.arrays import Array, read_arrays
from nwx.engine.cube import Build
from nwx.errors import UsageError
from nwx.facets.criteria import DESCRIPTIONS, UNKNOWN, Criterion
from nwx.facets.labels import TABLES
from nwx.facets.payloads import Columns
from nwx.facets.question import Condition


class Opened:
    """The columns and combinations of a build, mapped into memory.

    `whole` reads the values of all criteria at once, so that the files of
    the build may then be removed.
    """

    def __init__(self, build: Build, *, whole: bool = False) -> None:
        self.build = build
        self.months: dict[str, Columns] = {
            name: read_arrays(build.folder / month["file"])
            for name, month in build.manifest["months"].items()
        }
        self._sizes = read_arrays(build.folder / build.manifest["sizes"])
        self.groupings = build.groupings()
        self.least = int(build.manifest.get("least", 1))
        self._labels: dict[str, list[str]] = (
            {name: build.labels(name) for name in TABLES} if whole else {}
        )
        self._codes: dict[Criterion, dict[str, int]] = {}

    def labels(self, name: str) -> list[str]:
        """Return the values of a criterion, or the archive files, by their codes."""
        if name not in self._labels:
            self._labels[name] = self.build.labels(name)
        return self._labels[name]

    @property
    def sizes(self) -> Array:
        """The bytes of documents; 0 of those whose captures differ."""
        return self._sizes["sizes"]

    def varied_rows(self, month: str) -> Array:
        """Return the rows of a month whose documents have captures of several sizes."""
        return self._sizes.get(f"rows-{month}", np.zeros(0, dtype=np.int64))

    @cached_property
    def documents(self) -> int:
        """How many numbers of documents there are."""
        return int(self.build.manifest["ids"]["digest"])

    @cached_property
    def urls(self) -> int:
        """How many numbers of URLs there are."""
        return int(self.build.manifest["ids"]["url"])

    def allowed(self, criterion: Criterion, conditions: list[Condition]) -> Array:
        """Tell of each code of a criterion whether all conditions take it."""
        found = np.ones(len(self.labels(criterion)), dtype=bool)
        for condition in conditions:
            fits = self._fitting(condition)
            found &= ~fits if condition.negated else fits
        return found

    def _fitting(self, condition: Condition) -> Array:
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


def in_span(value: str, condition: Condition) -> bool:
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
