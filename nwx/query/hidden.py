"""Documents and dates left out of a search because the viewer may not see them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

SeenDate = tuple[str, str]
"""A date of a document: its timestamp (14 digits) and its collection."""

_NO_DATES: frozenset[SeenDate] = frozenset()


class HiddenSpan(NamedTuple):
    """All dates from one timestamp to another, both inclusive, of a collection ("" for any)."""

    first: str
    last: str
    collection: str = ""

    def holds(self, timestamp: str, collection: str) -> bool:
        """Return whether a date is in the span."""
        return self.first <= timestamp <= self.last and self.collection in ("", collection)


@dataclass(frozen=True, slots=True)
class HiddenDocuments:
    """The documents and dates that a viewer may not see.

    Equal `key` means equal content. `documents` are the ids of fully hidden documents. `dates` maps
    the ids of other documents to their hidden dates. `spans` are hidden in all other documents
    except `apart`; a document with all dates in spans is hidden.
    """

    key: str = ""
    documents: frozenset[str] = field(default=frozenset(), compare=False)
    dates: Mapping[str, frozenset[SeenDate]] = field(default_factory=dict, compare=False)
    spans: tuple[HiddenSpan, ...] = field(default=(), compare=False)
    apart: frozenset[str] = field(default=frozenset(), compare=False)

    def __bool__(self) -> bool:
        """Return whether anything is hidden."""
        return bool(self.documents or self.dates or self.spans)

    def hides_date(self, id: str, timestamp: str, collection: str) -> bool:
        """Return whether a date of a document is hidden."""
        if id in self.documents:
            return True
        if id in self.dates or id in self.apart:
            return (timestamp, collection) in self.dates.get(id, _NO_DATES)
        return any(span.holds(timestamp, collection) for span in self.spans)

    def hides(self, id: str, seen: Collection[SeenDate]) -> bool:
        """Return whether a document with these dates is fully hidden."""
        return id in self.documents or (
            bool(seen) and all(self.hides_date(id, *one) for one in seen)
        )


NONE_HIDDEN = HiddenDocuments()
"""Everything may be seen."""
