"""The values of criteria and their codes, which never change once they are given."""

from collections.abc import Iterable, Mapping, Sequence

from nwx.facets.criteria import DEPTHS, SIZES, STATUSES, UNKNOWN, Criterion

OPEN = (
    Criterion.MONTH,
    Criterion.SITE,
    Criterion.TYPE,
    Criterion.TLD,
    Criterion.COLLECTION,
)
"""Criteria whose values are as they come; the first code is that of the unknown."""

FIXED: dict[Criterion, tuple[str, ...]] = {
    Criterion.STATUS: STATUSES,
    Criterion.SIZE: SIZES,
    Criterion.DEPTH: DEPTHS,
}


class Labels:
    """The codes of the values of all criteria."""

    def __init__(self, known: Mapping[str, Sequence[str]] | None = None) -> None:
        self.values: dict[Criterion, list[str]] = {
            criterion: list((known or {}).get(criterion, FIXED.get(criterion, (UNKNOWN,))))
            for criterion in Criterion
        }
        self._codes = {
            criterion: {value: code for code, value in enumerate(values)}
            for criterion, values in self.values.items()
        }

    def codes(self, criterion: Criterion, values: Iterable[str]) -> list[int]:
        """Return the codes of values, new ones where they have none."""
        known, all_values = self._codes[criterion], self.values[criterion]
        found = []
        for value in values:
            code = known.get(value)
            if code is None:
                code = known[value] = len(all_values)
                all_values.append(value)
            found.append(code)
        return found
