"""The join of documents with their dates, by the sets of documents that meet date conditions."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from nwx.engine.search_server import schema
from nwx.engine.search_server.date_indices import ServerDatesIndices
from nwx.engine.search_server.documents.aggregations import DATED_FACETS, FacetFilters
from nwx.engine.search_server.documents.compile import (
    EVERYTHING,
    NOTHING,
    Query,
    compile_node,
    leaf_query,
    own_query,
    seen_query,
)
from nwx.engine.search_server.documents.hidden_parts import NOTHING_HIDDEN, HiddenParts
from nwx.engine.search_server.documents.id_lists import (
    AskedList,
    KeptList,
    ListQueries,
    RememberedNumbers,
    encoded,
    terms_query,
)
from nwx.engine.search_server.documents.linked_search import LinkedQuery
from nwx.engine.search_server.pages import (
    among_search,
    count_hits,
    numbers,
    numbers_among,
    numbers_if_few,
    numbers_search,
    pages,
    read_numbers,
    search_each,
    within,
)
from nwx.engine.search_server.schema import NUMBER, Schema
from nwx.engine.search_server.server import Body, Server
from nwx.model import IndexName
from nwx.query.fields import CAPTURE_FIELDS
from nwx.query.question import DateCondition, DocumentQuery, range_condition
from nwx.query.tree import (
    BELOW_PAGES,
    DateRange,
    Leaf,
    date_ranges,
    field_type,
)

NUMBERS_ONLY: Body = {"_source": False, "stored_fields": "_none_", "docvalue_fields": [NUMBER]}

_Found = Mapping[DateCondition, Collection[int]]
Lists = Mapping[DateCondition, frozenset[int]]
_Listed = Callable[[Collection[int]], Query]
_Joiner = Callable[[DateCondition, bool], Query]


@dataclass(frozen=True, slots=True)
class Resolved:
    """The query of a question in the documents index; not `whole` if it finds only a part.

    `most` is an upper bound of the documents found, if known. The query is valid while the lists
    `kept` that it uses are unchanged. If facets leave out their own filters, `apart` has these
    filters, `asked` is the query without any of them, and `counted` the query of the documents
    counted by each facet on dates.
    """

    query: Query
    whole: bool = True
    most: int | None = None
    apart: FacetFilters | None = None
    asked: Query = field(default_factory=dict)
    counted: Mapping[str, Query] = field(default_factory=dict)
    kept: tuple[KeptList, ...] = ()


@dataclass(frozen=True, slots=True)
class _Met:
    """The documents that meet each condition; a question has at most `most`, if known.

    Not `whole` if a condition matches too many documents and is left out. `count` is an upper bound
    of the documents of a question, if known, and `kept` are cached lists that were not requested
    again.
    """

    found: Lists
    most: int | None = None
    whole: bool = True
    count: int | None = None
    kept: tuple[KeptList, ...] = ()


class Join:
    """Finds documents by conditions on all their dates."""

    def __init__(self, server: Server, schema: Schema, dates: ServerDatesIndices) -> None:
        self._server = server
        self._documents = schema.name(IndexName.DOCUMENTS)
        self._dates = dates
        self._remembered = RememberedNumbers(server)
        self._lists = ListQueries(server, self._documents)

    def resolve(
        self, query: DocumentQuery, sort: list[Body], wanted: int, *, trusting: bool = False
    ) -> Resolved:
        """Return the query of a question.

        The smaller of two sides is listed: the dates entries that meet a condition, or the
        documents that meet everything else. If both exceed schema.MAX_IDS, documents are scanned in
        the order of `sort` until `wanted` of them match, and the query finds only these. Cached
        lists are requested again unless `trusting`: then the caller checks together with the search
        whether they are unchanged (`changed`).
        """
        met = self._meeting(query, all_conditions(query), trusting)
        if met.whole:
            joined = joined_query(query, met.found, self._listed(met))
            return Resolved(joined, most=met.most, kept=met.kept)
        return self._walk(query, superset_query(query, met.found), sort, wanted)

    def changed(self, kept: Sequence[KeptList], answers: Sequence[Body]) -> bool:
        """Return whether cached lists have changed, according to the answers to their searches."""
        return self._remembered.changed(kept, answers)

    def _listed(self, met: _Met) -> _Listed:
        return lambda numbers: self._lists.query(numbers, met.count)

    def resolve_apart(
        self, query: DocumentQuery, facets: Sequence[str], *, trusting: bool = False
    ) -> Resolved | None:
        """Return the query of a question, and that without the filters of some facets.

        None if there are too many documents on both sides (see `resolve`).
        """
        broad = query
        for facet in facets:
            broad = broad.without(facet)
        others = {one: query.without(one) for one in facets if one in DATED_FACETS}
        conditions = _unique(map(all_conditions, (query, *others.values())))
        met = self._meeting(broad, conditions, trusting)
        if not met.whole:
            return None
        found, listed = met.found, self._listed(met)
        apart = FacetFilters(
            {one: _filter(one, query.filters[one]) for one in facets if one not in others},
            _dates_query(query, found, listed) if others else None,
            {facet: _dates_query(one, found, listed) for facet, one in others.items()},
        )
        return Resolved(
            joined_query(query, found, listed),
            most=met.most,
            apart=apart,
            asked=joined_query(broad, found, listed),
            counted={facet: joined_query(one, found, listed) for facet, one in others.items()},
            kept=met.kept,
        )

    def _meeting(
        self, query: DocumentQuery, conditions: Sequence[DateCondition], trusting: bool
    ) -> _Met:
        """Return the documents that meet each condition, at least among those of a query."""
        if not conditions:
            return _Met({})
        if trusting and (met := self._as_kept(conditions)):
            return met
        asked, few = self._asked(query, conditions)
        settled = {one: lists for one, lists in asked.items() if all(x.settled for x in lists)}
        if few is not None:
            return _Met(self._among(conditions, few, self._found_of(settled)), len(few))
        known = self._found_of(asked)
        if len(known) == len(conditions):
            return self._shortened(query, known)
        candidates = self._candidates(query, known, schema.MAX_IDS)
        if candidates is None:
            return _Met(known, whole=False)
        return _Met(self._among(conditions, candidates, known), len(candidates))

    def _as_kept(self, conditions: Sequence[DateCondition]) -> _Met | None:
        """Return the cached lists, None if one is missing or slow to search with."""
        further = self._dates.further()
        lists = [(index, seen_query(one, some)) for one in conditions for index, some in further]
        kept = self._remembered.kept(lists)
        if kept is None:
            return None
        size = len(further)
        found = {
            one: _united([part.numbers for part in kept[place * size : (place + 1) * size]])
            for place, one in enumerate(conditions)
        }
        if not all(self._is_quick(one) for one in found.values()):
            return None
        return _Met(found, kept=tuple(kept))

    def _is_quick(self, numbers: frozenset[int]) -> bool:
        """Return whether a search with a list takes little longer than without it."""
        few = len(numbers) <= schema.LOOKED_UP
        return few or (len(numbers) <= schema.MAX_IDS and self._lists.is_compared(numbers))

    def _asked(
        self, query: DocumentQuery, conditions: Sequence[DateCondition]
    ) -> tuple[dict[DateCondition, list[AskedList]], list[int] | None]:
        """Return the state of the lists of conditions, and the documents of a query.

        The documents are None if there are many, or if all lists are cached and short: then they
        are not requested.
        """
        further = self._dates.further()
        lists = [(index, seen_query(one, some)) for one in conditions for index, some in further]
        longest = self._remembered.longest(lists)
        beside = []
        if longest is None or longest > schema.SHORT_LIST:
            superset = superset_query(query, {})
            beside = [numbers_search(self._documents, superset, schema.SHORT_LIST)]
        asked, answers = self._remembered.ask(lists, beside)
        few = numbers_if_few(answers[0], schema.SHORT_LIST) if answers else None
        size = len(further)
        by_condition = {
            one: asked[place * size : (place + 1) * size] for place, one in enumerate(conditions)
        }
        return by_condition, few

    def _shortened(self, query: DocumentQuery, known: Lists) -> _Met:
        """Return lists reduced to the documents of a query, if these are not too many.

        The server compares each document with the list, which is faster than looking up all numbers
        of the list.
        """
        longest = max(known.values(), key=len)
        if len(longest) <= schema.SHORT_LIST:
            return _Met(known)
        superset = superset_query(query, {})
        count = count_hits(self._server, self._documents, superset)
        if count > schema.COMPARED or self._lists.is_compared(longest, count):
            return _Met(known, count=count)
        searches = [among_search(self._documents, superset, encoded(one)) for one in known.values()]
        answers = search_each(self._server, searches)
        named = [frozenset(read_numbers(one["aggregations"])) for one in answers]
        return _Met(dict(zip(known, named, strict=True)), count)

    def _candidates(self, query: DocumentQuery, known: _Found, most: int) -> list[int] | None:
        """Return the documents that may match a query, None if more than `most`."""
        superset = superset_query(query, known)
        if count_hits(self._server, self._documents, superset, most) > most:
            return None
        return numbers(self._server, self._documents, superset)

    def walk(self, query: DocumentQuery, sort: list[Body]) -> Iterator[list[int]]:
        """Stream the numbers of all documents of a question, in pages in the order of `sort`."""
        conditions = all_conditions(query)
        body = {"query": superset_query(query, {}), **NUMBERS_ONLY}
        for page in pages(self._server, self._documents, body, sort, size=schema.PAGE):
            here = [hit["fields"][NUMBER][0] for hit in page]
            inside = within(joined_query(query, self._among(conditions, here, {})), here)
            found = set(numbers(self._server, self._documents, inside) or ())
            yield [number for number in here if number in found]

    def _walk(
        self, query: DocumentQuery, superset: Query, sort: list[Body], wanted: int
    ) -> Resolved:
        found: list[int] = []
        for some in self.walk(query, sort):
            found += some
            if len(found) >= wanted:
                break
        return Resolved(within(superset, found[: schema.MAX_IDS]), whole=False)

    def _among(
        self, conditions: Sequence[DateCondition], some: Sequence[int], known: Lists
    ) -> dict[DateCondition, frozenset[int]]:
        """Return those of some documents that meet each condition."""
        return {
            one: known[one].intersection(some) if one in known else self._seen_among(one, some)
            for one in conditions
        }

    def _seen_among(self, one: DateCondition, some: Sequence[int]) -> frozenset[int]:
        return frozenset().union(
            *(
                numbers_among(self._server, index, seen_query(one, further), some)
                for index, further in self._dates.further()
            )
        )

    def _found_of(self, asked: Mapping[DateCondition, Sequence[AskedList]]) -> Lists:
        return {one: some for one in asked if (some := self._found(asked[one])) is not None}

    def _found(self, lists: Sequence[AskedList]) -> frozenset[int] | None:
        """Return the union of the lists of a condition, None if too long."""
        parts = []
        for one in lists:
            part = self._remembered.read(one)
            if part is None:
                return None
            parts.append(part)
        found = _united(parts)
        return found if len(found) <= schema.MAX_IDS else None


def _united(parts: Sequence[frozenset[int]]) -> frozenset[int]:
    return parts[0] if len(parts) == 1 else frozenset().union(*parts)


def all_conditions(query: DocumentQuery) -> list[DateCondition]:
    """Return the date conditions of a question: of its query tree, filters and dates."""
    conditions = [range_condition(node) for node in date_ranges(query.tree)]
    own = query.date_condition()
    return list(dict.fromkeys([*conditions, own] if own else conditions))


def joined_query(query: DocumentQuery, found: _Found, listed: _Listed = terms_query) -> Query:
    """Return the query of a question, given the documents that meet each condition.

    `listed` returns the query of a list of documents.
    """
    return _query(query, lambda one, wanted: _joined(query, one, found[one], listed))


def superset_query(query: DocumentQuery, known: _Found) -> Query:
    """Return a query that matches at least a question's documents: unknown conditions are met."""

    def either(one: DateCondition, wanted: bool) -> Query:
        if one in known:
            return _joined(query, one, known[one])
        return EVERYTHING if wanted else NOTHING

    return _query(query, either)


def _joined(
    query: DocumentQuery,
    one: DateCondition,
    found: Collection[int],
    listed: _Listed = terms_query,
) -> Query:
    if not found:
        return _hidden(query).visibly_met(one, own_query(one))
    either = [own_query(one), listed(found)]
    return _hidden(query).visibly_met(one, {"bool": {"should": either, "minimum_should_match": 1}})


def _hidden(query: DocumentQuery) -> HiddenParts:
    return query.hidden if isinstance(query, LinkedQuery) else NOTHING_HIDDEN


def _query(query: DocumentQuery, join: _Joiner) -> Query:
    leaf = partial(_joined_leaf, query, join)
    compiled = _with_links(query, leaf)
    if query.pages_first:
        weight = query.ranking.below_pages
        below = {"filter": compile_node(BELOW_PAGES, leaf), "weight": weight}
        compiled = {"function_score": {"query": compiled, "functions": [below]}}
    filters = [
        _filter(field, values)
        for field, values in query.filters.items()
        if field not in DATED_FACETS
    ]
    own = query.date_condition()
    if own:
        filters.append(join(own, True))
    if filters:
        compiled = {"bool": {"must": [compiled], "filter": filters}}
    return _hidden(query).shown(compiled)


def _with_links(query: DocumentQuery, join: Callable[[DateRange | Leaf, bool], Query]) -> Query:
    compiled = compile_node(query.tree, join, ranking=query.ranking)
    if bonus := [compile_node(one, join, ranking=query.ranking) for one in query.bonus]:
        compiled = {"bool": {"must": [compiled], "should": bonus}}
    if not isinstance(query, LinkedQuery) or not query.found:
        return compiled
    return query.with_found(compiled, compile_node(query.rest, join))


def _joined_leaf(
    query: DocumentQuery, join: _Joiner, node: DateRange | Leaf, wanted: bool
) -> Query:
    if isinstance(node, DateRange):
        return {"constant_score": {"filter": join(range_condition(node), wanted)}}
    if node.field in CAPTURE_FIELDS:
        return _hidden(query).own_shown(leaf_query(node))
    return query.leaves[node] if isinstance(query, LinkedQuery) else NOTHING


def _dates_query(query: DocumentQuery, found: _Found, listed: _Listed) -> Query:
    """Return the query of the documents that meet a question's filters on dates."""
    own = query.date_condition()
    return _joined(query, own, found[own], listed) if own else EVERYTHING


def _unique(lists: Iterable[list[DateCondition]]) -> list[DateCondition]:
    return list(dict.fromkeys(one for some in lists for one in some))


def _filter(field: str, values: Sequence[str]) -> Query:
    if field_type(field) == "integer":
        return {"terms": {field: [int(value) for value in values]}}
    return {"terms": {field: list(values)}}
