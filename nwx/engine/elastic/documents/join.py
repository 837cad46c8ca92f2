"""The join of documents with their dates: conditions become sets of documents."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nwx.engine.base import SearchRequest
from nwx.engine.elastic import limits
from nwx.engine.elastic.dates.indices import ElasticDatesIndices
from nwx.engine.elastic.documents.compile import (
    EVERYTHING,
    NOTHING,
    Query,
    compile_node,
    date_ranges,
    field_type,
)
from nwx.engine.elastic.documents.conditions import DateCondition, request_condition
from nwx.engine.elastic.documents.id_lists import RememberedNumbers
from nwx.engine.elastic.pages import count_hits, numbers, pages, within
from nwx.engine.elastic.schema import NUMBER, Schema
from nwx.engine.elastic.server import Body, Server
from nwx.errors import QueryError
from nwx.model import IndexName
from nwx.query.tree import DateRange

_JOINED = ("collection", "year")
NUMBERS_ONLY: Body = {"_source": False, "stored_fields": "_none_", "docvalue_fields": [NUMBER]}

Found = Mapping[DateCondition, Collection[int]]
Lists = Mapping[DateCondition, frozenset[int]]
_Joiner = Callable[[DateCondition, bool], Query]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A request's query in the index of documents; not `whole` where it finds a part only."""

    query: Query
    whole: bool = True


class Join:
    """What finds documents by conditions on all their dates."""

    def __init__(self, server: Server, schema: Schema, dates: ElasticDatesIndices) -> None:
        self._server = server
        self._documents = schema.name(IndexName.DOCUMENTS)
        self._dates = dates
        self._remembered = RememberedNumbers(server)

    def resolve(self, request: SearchRequest, sort: list[Body], wanted: int) -> Resolved:
        """Return the query of a request.

        Of two sides the smaller is looked up: the entries of dates that meet
        a condition, or the documents that meet all else. Where both are more
        than limits.MAX_IDS, documents are walked in the order of `sort` until
        `wanted` of them are found, and the query finds those only.
        """
        conditions = all_conditions(request)
        known = {one: found for one in conditions if (found := self._found(one)) is not None}
        longest = max(map(len, known.values()), default=0)
        if len(known) < len(conditions) or longest > limits.SHORT_LIST:
            few = self._candidates(request, {}, limits.SHORT_LIST)
            if few is not None:
                return Resolved(joined_query(request, self._among(conditions, few, known)))
        if len(known) == len(conditions):
            return Resolved(joined_query(request, known))
        candidates = self._candidates(request, known, limits.MAX_IDS)
        if candidates is not None:
            return Resolved(joined_query(request, self._among(conditions, candidates, known)))
        return self._walk(request, superset_query(request, known), sort, wanted)

    def _candidates(self, request: SearchRequest, known: Found, most: int) -> list[int] | None:
        """Return the documents that may be of a result, None of more than `most`."""
        query = superset_query(request, known)
        if count_hits(self._server, self._documents, query, most) > most:
            return None
        return numbers(self._server, self._documents, query)

    def walk(self, request: SearchRequest, sort: list[Body]) -> Iterator[list[int]]:
        """Stream the numbers of all documents of a request, in pages in the order of `sort`."""
        conditions = all_conditions(request)
        body = {"query": superset_query(request, {}), **NUMBERS_ONLY}
        for page in pages(self._server, self._documents, body, sort, size=limits.PAGE):
            here = [hit["fields"][NUMBER][0] for hit in page]
            query = within(joined_query(request, self._among(conditions, here, {})), here)
            found = set(numbers(self._server, self._documents, query) or ())
            yield [number for number in here if number in found]

    def _walk(
        self, request: SearchRequest, superset: Query, sort: list[Body], wanted: int
    ) -> Resolved:
        found: list[int] = []
        for some in self.walk(request, sort):
            found += some
            if len(found) >= wanted:
                break
        return Resolved(within(superset, found[: limits.MAX_IDS]), whole=False)

    def _among(
        self, conditions: Sequence[DateCondition], some: Sequence[int], known: Lists
    ) -> dict[DateCondition, Collection[int]]:
        """Return which of some documents meet each condition."""
        return {
            one: known[one].intersection(some) if one in known else self._seen_among(one, some)
            for one in conditions
        }

    def _seen_among(self, one: DateCondition, some: Sequence[int]) -> frozenset[int]:
        return frozenset().union(
            *(
                numbers(self._server, index, within(one.seen(further), some)) or ()
                for index, further in self._dates.further()
            )
        )

    def _found(self, one: DateCondition) -> frozenset[int] | None:
        """Return the documents that meet a condition in an index, None of too many."""
        parts = []
        for index, further in self._dates.further():
            part = self._remembered.numbers(index, one.seen(further))
            if part is None:
                return None
            parts.append(part)
        found = parts[0] if len(parts) == 1 else frozenset().union(*parts)
        return found if len(found) <= limits.MAX_IDS else None


def all_conditions(request: SearchRequest) -> list[DateCondition]:
    """Return the conditions of a request: of its query, and of its filters and dates."""
    conditions = [_condition(node) for node in date_ranges(request.query)]
    own = request_condition(request)
    return list(dict.fromkeys([*conditions, own] if own else conditions))


def joined_query(request: SearchRequest, found: Found) -> Query:
    """Return the query where the documents of each condition are known."""
    return _query(request, lambda one, wanted: _joined(one, found[one]))


def superset_query(request: SearchRequest, known: Found) -> Query:
    """Return a query of at least the documents of a request: any date may do, or not do."""

    def either(one: DateCondition, wanted: bool) -> Query:
        if one in known:
            return _joined(one, known[one])
        return EVERYTHING if wanted else NOTHING

    return _query(request, either)


def _condition(node: DateRange) -> DateCondition:
    return DateCondition(((node.low, node.high),))


def _joined(one: DateCondition, found: Collection[int]) -> Query:
    if not found:
        return one.own()
    either = [one.own(), {"terms": {NUMBER: list(found)}}]
    return {"bool": {"should": either, "minimum_should_match": 1}}


def _query(request: SearchRequest, join: _Joiner) -> Query:
    query = compile_node(
        request.query,
        lambda node, wanted: {"constant_score": {"filter": join(_condition(node), wanted)}},
    )
    filters = [
        _filter(field, values)
        for field, values in request.filters.items()
        if values and field not in _JOINED
    ]
    own = request_condition(request)
    if own:
        filters.append(join(own, True))
    return {"bool": {"must": [query], "filter": filters}} if filters else query


def _filter(field: str, values: Sequence[str]) -> Query:
    if field_type(field) == "integer":
        return {"terms": {field: [_number(field, value) for value in values]}}
    return {"terms": {field: list(values)}}


def _number(field: str, value: str) -> int:
    if not (value.isascii() and value.isdigit() and len(value) < 10):
        raise QueryError(f"the field {field!r} holds numbers, {value[:40]!r} is none")
    return int(value)
