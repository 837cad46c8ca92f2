"""Conditions on captures that an engine can look up by itself, and what it then tells."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class OneOf:
    """The field has one of these values."""

    field: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Between:
    """The field is `low` or more, and less than `high`; None is open."""

    field: str
    low: str | int | None = None
    high: str | int | None = None


@dataclass(frozen=True, slots=True)
class Ending:
    """The field ends in this text."""

    field: str
    end: str


@dataclass(frozen=True, slots=True)
class Like:
    """The whole field is as a regular expression says, of what all engines know of these."""

    field: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Unset:
    """The field has no value."""

    field: str


@dataclass(frozen=True, slots=True)
class Not:
    """The part is not met."""

    part: "LiveFilter"


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of the parts is met at least."""

    parts: tuple["LiveFilter", ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """All parts are met."""

    parts: tuple["LiveFilter", ...] = ()


LiveFilter = OneOf | Between | Ending | Like | Unset | Not | AnyOf | AllOf

ALL = AllOf()


@dataclass(frozen=True, slots=True)
class Groups:
    """Captures that are alike in some fields: the values of these, and how many captures each."""

    values: Sequence[tuple[Any, ...]]
    captures: Sequence[int]


@dataclass(frozen=True, slots=True)
class Estimate:
    """What captures are, by what their own records say; documents and URLs are estimates.

    `sized` captures have a size that is known, of `size_bytes` together.
    """

    captures: int
    documents: int
    urls: int
    sized: int
    size_bytes: int


class LiveSelection(ABC):
    """The captures of one moment, looked up by conditions.

    Captures with a value that is too long to be looked up are always found,
    so that there may be some more than those that meet a condition.
    """

    @abstractmethod
    def count(self, wanted: LiveFilter) -> int:
        """Return the number of captures."""

    @abstractmethod
    def groups(self, wanted: LiveFilter, fields: Sequence[str]) -> Iterator[Groups]:
        """Stream captures by their values of some fields, each combination together.

        Of `timestamp` there is the month (`201301`) alone.
        """

    @abstractmethod
    def estimates(
        self, wanted: LiveFilter, parts: Sequence[LiveFilter], sized: LiveFilter
    ) -> list[Estimate]:
        """Return what there is of the wanted captures in each of the parts.

        `sized` is the condition of a size that is known.
        """
