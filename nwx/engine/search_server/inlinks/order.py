"""The order of a result by the number of linking pages."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from nwx.engine.anchors.scores import linking_counts
from nwx.engine.anchors.table import AnchorTable, TargetNumbers
from nwx.engine.search_server import limits
from nwx.engine.search_server.dates.indices import ServerDatesIndices
from nwx.engine.search_server.documents.compile import Query
from nwx.engine.search_server.documents.hidden_parts import HiddenParts
from nwx.engine.search_server.inlinks.linked_search import most_linked, urls_query
from nwx.engine.search_server.pages import pages
from nwx.engine.search_server.schema import NUMBER
from nwx.engine.search_server.server import Body, Server

NewestFirst = Callable[[int], list[int]]
"""What gives the numbers of the first documents of the result by their newest dates."""

_STEP = 10_000


@dataclass(frozen=True, slots=True)
class _Linked:
    """A document of the result that others link to."""

    number: int
    fold: int
    id: str
    date: str
    pages: int


class InlinkOrder:
    """Documents by how many pages link to them, equal ones newest first, then by id."""

    def __init__(
        self,
        server: Server,
        documents: str,
        dates: ServerDatesIndices,
        table: AnchorTable,
        hidden: HiddenParts,
    ) -> None:
        self._server = server
        self._documents = documents
        self._dates = dates
        self._table = table
        self._hidden = hidden

    def first(
        self, query: Query, fold: str, wanted: int, total: int, newest: NewestFirst
    ) -> list[int]:
        """Return the numbers of the first documents of a result of so many, one of each fold."""
        folds: dict[int, int] = {}
        linked: set[int] = set()
        for found in self._steps(query, fold, total):
            for one in self._ordered(found):
                linked.add(one.number)
                folds.setdefault(one.fold, one.number)
            if len(folds) >= wanted:
                return list(folds.values())[:wanted]
        numbers = list(folds.values())
        further = newest(min(wanted + len(linked), limits.PAGE))
        return [*numbers, *(one for one in further if one not in linked)][:wanted]

    def _steps(self, query: Query, fold: str, total: int) -> Iterator[list[_Linked]]:
        if total <= limits.MAX_IDS:
            yield list(self._found(query, fold))
            return
        for targets in most_linked(self._table, _STEP):
            urls = urls_query(self._table.keys.take(targets))
            yield list(self._found({"bool": {"must": [query], "filter": [urls]}}, fold))

    def _found(self, query: Query, fold: str) -> Iterator[_Linked]:
        fields = list(dict.fromkeys(["id", "urlkey", "timestamp", NUMBER, fold]))
        body: Body = {"query": query, "_source": False, "stored_fields": "_none_"}
        body["docvalue_fields"] = fields
        sort = [{"id": "asc"}]
        for page in pages(self._server, self._documents, body, sort, size=limits.PAGE):
            values = [hit["fields"] for hit in page]
            targets = self._table.targets([one.get("urlkey", [""])[0] for one in values])
            counts = self._counts(targets)
            for one, count in zip(values, counts, strict=True):
                if count:
                    date = one["timestamp"][0]
                    yield _Linked(one[NUMBER][0], one[fold][0], one["id"][0], date, count)

    def _counts(self, targets: TargetNumbers) -> list[int]:
        found: list[int] = linking_counts(self._table, "documents", targets).tolist()
        return found

    def _ordered(self, found: Iterable[_Linked]) -> list[_Linked]:
        found = list(found)
        dates = self._dates.read([one.id for one in found])
        newest = {
            one.id: max(
                (time for time, _ in self._hidden.seen(one.id, dates[one.id].seen)),
                default=one.date,
            )
            if one.id in dates
            else one.date
            for one in found
        }
        found.sort(key=lambda one: one.id)
        found.sort(key=lambda one: newest[one.id], reverse=True)
        found.sort(key=lambda one: one.pages, reverse=True)
        return found
