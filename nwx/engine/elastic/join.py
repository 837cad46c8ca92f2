"""The join of documents with their dates: conditions become sets of ids, the smaller side first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from nwx.engine.base import SearchRequest
from nwx.engine.elastic import limits
from nwx.engine.elastic.compile import (
    EVERYTHING,
    NOTHING,
    Query,
    compile_node,
    date_ranges,
    field_type,
)
from nwx.engine.elastic.conditions import Condition, request_condition
from nwx.engine.elastic.paging import pages, search
from nwx.engine.elastic.schema import Schema
from nwx.engine.elastic.server import Body, Server
from nwx.errors import QueryError
from nwx.model import IndexName
from nwx.query.tree import DateRange

_JOINED = ("collection", "year")
IDS_ONLY: Body = {"_source": False, "stored_fields": "_none_", "docvalue_fields": ["id"]}

Ids = Mapping[Condition, Sequence[str]]
_Joiner = Callable[[Condition, bool], Query]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A request's query in the index of documents; not `whole` where it finds a part only."""

    query: Query
    whole: bool = True


class Join:
    """What finds documents by conditions on all their dates."""

    def __init__(self, server: Server, schema: Schema) -> None:
        self._server = server
        self._documents = schema.name(IndexName.DOCUMENTS)
        self._dates = schema.name(IndexName.DATES)

    def resolve(self, request: SearchRequest, sort: list[Body], wanted: int) -> Resolved:
        """Return the query of a request.

        Of two sides the smaller is looked up: the entries of dates that meet a
        condition, or the documents that meet all else. Where both have more
        than limits.MAX_IDS, documents are walked in the order of `sort` until `wanted`
        of them are found, and the query finds those only.
        """
        conditions = all_conditions(request)
        ids = {one: self._ids(one.seen()) for one in conditions}
        known = {one: found for one, found in ids.items() if found is not None}
        if len(known) == len(ids):
            return Resolved(joined_query(request, known))
        superset = superset_query(request, known)
        candidates = self.document_ids(superset)
        if candidates is not None:
            return Resolved(joined_query(request, self._among(conditions, candidates)))
        return self._walk(request, superset, sort, wanted)

    def walk(self, request: SearchRequest, sort: list[Body]) -> Iterator[list[str]]:
        """Stream the ids of all documents of a request, in pages in the order of `sort`."""
        conditions = all_conditions(request)
        body = {"query": superset_query(request, {}), **IDS_ONLY}
        for page in pages(self._server, self._documents, body, sort, size=limits.PAGE):
            ids = [id_of(hit) for hit in page]
            query = within(joined_query(request, self._among(conditions, ids)), ids)
            found = set(self.document_ids(query) or ())
            yield [id for id in ids if id in found]

    def _walk(
        self, request: SearchRequest, superset: Query, sort: list[Body], wanted: int
    ) -> Resolved:
        found: list[str] = []
        for ids in self.walk(request, sort):
            found += ids
            if len(found) >= wanted:
                break
        ids = found[: limits.MAX_IDS]
        return Resolved(within(superset, ids), whole=False)

    def document_ids(self, query: Query) -> list[str] | None:
        """Return the ids of the documents of a query, None of more than limits.MAX_IDS."""
        return self._all_ids(self._documents, query)

    def _ids(self, query: Query) -> list[str] | None:
        return self._all_ids(self._dates, query)

    def _all_ids(self, index: str, query: Query) -> list[str] | None:
        body = {"query": {"bool": {"filter": [query]}}, **IDS_ONLY}
        first = search(
            self._server,
            index,
            body | {"size": limits.PAGE, "sort": ["_doc"], "track_total_hits": limits.MAX_IDS + 1},
        )["hits"]
        total: int = first["total"]["value"]
        if total > limits.MAX_IDS:
            return None
        if total <= limits.PAGE:
            return [id_of(hit) for hit in first["hits"]]
        every = pages(self._server, index, body, ["_doc"], size=limits.PAGE)
        return [id_of(hit) for hit in chain.from_iterable(every)]

    def _among(self, conditions: Sequence[Condition], ids: Sequence[str]) -> Ids:
        """Return which of the ids meet each condition."""
        return {one: self._ids(within(one.seen(), ids)) or [] for one in conditions}


def all_conditions(request: SearchRequest) -> list[Condition]:
    """Return the conditions of a request: of its query, and of its filters and dates."""
    conditions = [_condition(node) for node in date_ranges(request.query)]
    own = request_condition(request)
    return list(dict.fromkeys([*conditions, own] if own else conditions))


def joined_query(request: SearchRequest, ids: Ids) -> Query:
    """Return the query where the documents of each condition are known."""
    return _query(request, lambda one, wanted: _joined(one, ids[one]))


def superset_query(request: SearchRequest, known: Ids) -> Query:
    """Return a query of at least the documents of a request: any date may do, or not do."""

    def either(one: Condition, wanted: bool) -> Query:
        if one in known:
            return _joined(one, known[one])
        return EVERYTHING if wanted else NOTHING

    return _query(request, either)


def within(query: Query, ids: Sequence[str]) -> Query:
    """Return a query that finds among these ids only."""
    return {"bool": {"must": [query], "filter": [{"terms": {"_id": list(ids)}}]}}


def id_of(hit: Body) -> str:
    """Return the id of a hit that was asked for with IDS_ONLY."""
    found: str = hit["fields"]["id"][0]
    return found


def _condition(node: DateRange) -> Condition:
    return Condition(((node.low, node.high),))


def _joined(one: Condition, ids: Sequence[str]) -> Query:
    if not ids:
        return one.own()
    return {
        "bool": {"should": [one.own(), {"terms": {"_id": list(ids)}}], "minimum_should_match": 1}
    }


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
