"""Years and months, and what is counted by them."""

from enum import StrEnum
from typing import NamedTuple


class Period(StrEnum):
    """The unit of a trend: a month (`201301`) or a year (`2013`)."""

    MONTH = "month"
    YEAR = "year"

    @property
    def digits(self) -> int:
        """The number of digits of a timestamp that name a period."""
        return 4 if self is Period.YEAR else 6


class TrendPoint(NamedTuple):
    """How often documents were captured in a period, and how many of them were."""

    period: str
    captures: int
    documents: int
