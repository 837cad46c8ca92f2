"""Charts over years: the heights of their bars."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

FILL_SPAN = 60
MOST_BARS = 80
LABELS = 12


@dataclass(frozen=True, slots=True)
class Bar:
    """A year, its count and what to draw: `height` of 100, `labelled` where there is room."""

    label: str
    count: int
    height: int
    labelled: bool
    address: str
    chosen: bool


def year_bars(
    counts: Mapping[str, int], address: Callable[[str], str], chosen: Sequence[str] = ()
) -> list[Bar]:
    """Return a bar a year, years without any among them.

    Damaged records bring years such as 0201 or 9999: where the years lie
    far apart, the gaps are left out and the latest years shown.
    """
    years = _years(counts)
    highest = max(counts.values(), default=0)
    step = ceil(len(years) / LABELS) or 1
    return [
        Bar(
            label=year,
            count=counts.get(year, 0),
            height=_height(counts.get(year, 0), highest),
            labelled=(len(years) - 1 - index) % step == 0,
            address=address(year),
            chosen=year in chosen,
        )
        for index, year in enumerate(years)
    ]


def _years(counts: Mapping[str, int]) -> list[str]:
    numbers = sorted(int(year) for year in counts if year.isascii() and year.isdigit())
    if not numbers:
        return []
    if numbers[-1] - numbers[0] < FILL_SPAN:
        numbers = list(range(numbers[0], numbers[-1] + 1))
    return [f"{year:04}" for year in numbers[-MOST_BARS:]]


def _height(count: int, highest: int) -> int:
    """Return a height from 0 to 100; what is there at all can be seen."""
    return max(4, round(100 * count / highest)) if count else 0
