"""The values of criteria and their codes, which never change once they are given."""

from collections.abc import Iterable, Mapping, Sequence

from nwx.facets.criteria import DEPTHS, SIZES, STATUSES, UNKNOWN, Criterion

_FIXED: dict[str, tuple[str, ...]] = {
    Criterion.STATUS: STATUSES,
    Criterion.SIZE: SIZES,
    Criterion.DEPTH: DEPTHS,
}


SOURCE = "source"
"""What tells the archive files of captures apart, `<collection>/<file name>`: no criterion."""

TABLES = (*(criterion.value for criterion in Criterion), SOURCE)


class Labels:
    """The codes of the values of all criteria, and of archive files."""

    def __init__(self, known: Mapping[str, Sequence[str]] | None = None) -> None:
        self.values = {name: list((known or {}).get(name, _first(name))) for name in TABLES}
        self._codes = {
            name: {value: code for code, value in enumerate(values)}
            for name, values in self.values.items()
        }

    def codes(self, name: str, values: Iterable[str]) -> list[int]:
        """Return the codes of values, new ones where they have none."""
        known, all_values = self._codes[name], self.values[name]
        found = []
        for value in values:
            code = known.get(value)
            if code is None:
                code = known[value] = len(all_values)
                all_values.append(value)
            found.append(code)
        return found


def _first(name: str) -> tuple[str, ...]:
    """Return the values that have the first codes: where they come as they come, the unknown."""
    return _FIXED.get(name, (UNKNOWN,))
