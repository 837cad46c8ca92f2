"""Reader and cache of the query parts that leave out what a viewer may not see."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from cachetools import LRUCache

from nwx.engine.search_server import limits
from nwx.engine.search_server.dates.entries import MANY
from nwx.engine.search_server.dates.indices import ServerDatesIndices
from nwx.engine.search_server.documents.compile import EVERYTHING, Query
from nwx.engine.search_server.documents.hidden_parts import (
    NOTHING_HIDDEN,
    HiddenParts,
    PartlyHidden,
    PartlyHiddenDates,
    hidden_queries,
    mixed_entries,
)
from nwx.engine.search_server.documents.id_lists import index_state
from nwx.engine.search_server.pages import pages, within
from nwx.engine.search_server.schema import NUMBER, Schema, number_of
from nwx.engine.search_server.server import Body, Server
from nwx.model import IndexName
from nwx.query.question import HiddenDocuments, SeenDate

_KEPT = 8
_DATED: Body = {"_source": False, "stored_fields": "_none_", "docvalue_fields": [NUMBER, "seen"]}
_OWN: Body = _DATED | {"docvalue_fields": ["id", NUMBER, "timestamp", "collection"]}
_Parts = tuple[object, HiddenParts]


@dataclass(slots=True)
class _Found:
    """A document as it is read: its id, the date of its entry, and all its dates."""

    id: str
    own: SeenDate
    dates: set[SeenDate] = field(default_factory=set)


class HiddenReader:
    """Cached reader of hidden parts; threads may share it.

    They are reread when the hidden documents, or the dates of any document, change.
    """

    def __init__(self, server: Server, schema: Schema, dates: ServerDatesIndices) -> None:
        self._server = server
        self._documents = schema.name(IndexName.DOCUMENTS)
        self._dates = dates
        self._guard = threading.Lock()
        self._kept: LRUCache[str, _Parts] = LRUCache(_KEPT)

    def read(self, hidden: HiddenDocuments) -> HiddenParts:
        """Return the hidden parts, as parts of queries."""
        if not hidden:
            return NOTHING_HIDDEN
        state = self._state() if hidden.dates or hidden.spans else None
        with self._guard:
            known = self._kept.get(hidden.key)
        if known and known[0] == state:
            return known[1]
        parts = self._parts(hidden)
        with self._guard:
            self._kept[hidden.key] = state, parts
        return parts

    def _state(self) -> object:
        """Return what differs whenever dates were written."""
        indices = [index for index, _ in self._dates.further()]
        return [(index, index_state(self._server, index, EVERYTHING)) for index in indices]

    def _parts(self, hidden: HiddenDocuments) -> HiddenParts:
        wholly = [number_of(id) for id in hidden.documents]
        kept = [number_of(id) for id in hidden.apart]
        apart = sorted({*kept, *map(number_of, hidden.dates)})
        beside = frozenset(apart)
        partly: list[PartlyHidden] = []
        own: list[int] = []
        for number, one in self._dated(hidden).items():
            if one.id in hidden.documents:
                continue
            found = _parted(hidden, number, one)
            if not found.visible:
                wholly.append(number)
                continue
            if found.hidden:
                partly.append(found)
            in_span = any(span.holds(*one.own) for span in hidden.spans)
            if in_span:
                kept.append(number)
            if found.own_is_hidden and (not in_span or number in beside):
                own.append(number)
        documents = hidden_queries(sorted(wholly), hidden.spans, sorted(set(kept)))
        return HiddenParts(hidden, documents, PartlyHiddenDates(partly), apart, sorted(own))

    def _dated(self, hidden: HiddenDocuments) -> dict[int, _Found]:
        """Return the documents that may have hidden dates, with all their dates."""
        numbers = [number_of(id) for id in hidden.dates]
        if hidden.spans:
            numbers += self._mixed(hidden)
        found = dict(self._own(list(dict.fromkeys(numbers))))
        for index, further in self._dates.further():
            for number, dates in self._seen(index, further, list(found)):
                found[number].dates.update(dates)
        return found

    def _mixed(self, hidden: HiddenDocuments) -> Iterator[int]:
        """Yield the numbers of the dates entries that spans may partly hide."""
        for index, further in self._dates.further():
            # What is attached may have the only date that is shown, or hidden, of a document.
            query = mixed_entries(MANY, hidden.spans) if further == MANY else further
            body = {"query": query, **_DATED, "docvalue_fields": [NUMBER]}
            for page in pages(self._server, index, body, [{"id": "asc"}], size=limits.PAGE):
                for hit in page:
                    yield hit["fields"][NUMBER][0]

    def _own(self, numbers: Sequence[int]) -> Iterator[tuple[int, _Found]]:
        for fields in self._fields(self._documents, EVERYTHING, numbers, _OWN):
            own = fields["timestamp"][0], fields.get("collection", [""])[0]
            yield fields[NUMBER][0], _Found(fields["id"][0], own, {own})

    def _seen(
        self, index: str, further: Query, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Iterable[SeenDate]]]:
        for fields in self._fields(index, further, numbers, _DATED):
            yield fields[NUMBER][0], map(_pair, fields.get("seen", ()))

    def _fields(
        self, index: str, query: Query, numbers: Sequence[int], wanted: Body
    ) -> Iterator[Body]:
        step = limits.PAGE - 1  # no second page where each has one entry
        for begin in range(0, len(numbers), step):
            some = within(query, numbers[begin : begin + step])
            body = {"query": some, **wanted}
            for page in pages(self._server, index, body, [{"id": "asc"}], size=limits.PAGE):
                yield from (hit["fields"] for hit in page)


def _pair(seen: str) -> SeenDate:
    collection, _, timestamp = seen.rpartition("/")
    return timestamp, collection


def _parted(hidden: HiddenDocuments, number: int, one: _Found) -> PartlyHidden:
    """Return a document with its visible and its hidden dates."""
    lost = [date for date in one.dates if hidden.hides_date(one.id, *date)]
    return PartlyHidden(number, sorted(one.dates.difference(lost)), lost, one.own in lost)
