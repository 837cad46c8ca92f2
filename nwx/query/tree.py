"""The query tree that every engine compiles.

Fields are names of `mappings/documents.json` or JOINED_FIELDS, or "" for the
default text fields (`DEFAULT_FIELDS`). Texts are as the user wrote them, not analysed.
A text of several tokens in a text field means the phrase of them.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class All:
    """Every document."""


@dataclass(frozen=True, slots=True)
class Term:
    """A word, or an exact value of a keyword, number or date field."""

    field: str
    text: str


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in this order, with up to `slop` moves between them."""

    field: str
    text: str
    slop: int = 0


@dataclass(frozen=True, slots=True)
class Wildcard:
    """A pattern: `*` is any run of characters, `?` any one, a backslash quotes the next."""

    field: str
    pattern: str


@dataclass(frozen=True, slots=True)
class Fuzzy:
    """Words within `distance` (0 to 2) edits of `text`."""

    field: str
    text: str
    distance: int = 2


@dataclass(frozen=True, slots=True)
class Range:
    """Values between `low` and `high`; None is open."""

    field: str
    low: str | None
    high: str | None
    include_low: bool = True
    include_high: bool = True


@dataclass(frozen=True, slots=True)
class DateRange:
    """Documents one of whose dates lies in the span: joined from dates.

    Both ends are 14 digits and inclusive; "" is open.
    """

    low: str
    high: str


@dataclass(frozen=True, slots=True)
class Boost:
    """The same documents with their score multiplied."""

    node: "Node"
    factor: float


@dataclass(frozen=True, slots=True)
class Bool:
    """All of `must`, none of `must_not`; of `should` one at least where `must` is empty."""

    must: tuple["Node", ...] = ()
    should: tuple["Node", ...] = ()
    must_not: tuple["Node", ...] = ()


Node = All | Term | Phrase | Wildcard | Fuzzy | Range | DateRange | Boost | Bool
