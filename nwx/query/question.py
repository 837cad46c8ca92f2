"""Search questions, the document queries they resolve to, and documents hidden from a viewer."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import NamedTuple, Self

from nwx.data_classes import dataclass
from nwx.errors import ErrorText, QueryError, UsageError
from nwx.model import Collapse, Sort
from nwx.query.cost import check_cost
from nwx.query.fields import FACET_FIELDS, FILTERS, normal_name
from nwx.query.rankings import DEFAULT, Ranking, SearchBy, most_words
from nwx.query.tree import DateRange, Node, resolve_tree
from nwx.values.timestamps import date_bounds

SeenDate = tuple[str, str]
"""A date of a document: its timestamp (14 digits) and its collection."""

_NO_DATES: frozenset[SeenDate] = frozenset()


class HiddenSpan(NamedTuple):
    """All dates between two timestamps, both inclusive, in a collection ("" for any)."""

    first: str
    last: str
    collection: str = ""

    def holds(self, timestamp: str, collection: str) -> bool:
        """Return whether a date is in the span."""
        return self.first <= timestamp <= self.last and self.collection in ("", collection)


@dataclass(frozen=True, slots=True)
class HiddenDocuments:
    """The documents and dates that a viewer may not see.

    Equal keys mean equal contents. `documents` are the ids of fully hidden documents. `dates` maps
    the ids of other documents to their hidden dates. `spans` are hidden in all remaining documents
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
"""Nothing is hidden."""


MAX_LIMIT = 1_000
"""The most hits that one page can hold."""


BY_SCORE = (Sort.RELEVANCE, Sort.ALL_TYPES)
"""The sort orders by score."""


@dataclass(frozen=True, slots=True)
class Question:
    """A search, as specified by pages, programs and the command line.

    `query` is Lucene syntax, or its tree. `filters` maps a name in FILTERS or a field in
    FACET_FIELDS to accepted values (any of them). Dates are written 2010, 2010-03, … or as 14
    digits; both are inclusive. `facets` are named like filters; each is counted without its own
    filter (see `DocumentQuery.without`). `hidden` documents and dates are treated as missing.
    Engines search by words; `nwx.searching.vectors` answers searches `by` meaning. With
    `most_words`, documents with most of the words are returned if none has all.
    """

    query: str | Node = ""
    filters: Mapping[str, Sequence[str]] = field(default_factory=dict)
    date_from: str = ""
    date_to: str = ""
    sort: Sort = Sort.RELEVANCE
    collapse: Collapse = Collapse.URL
    facets: Sequence[str] = ()
    facet_size: int = 10
    offset: int = 0
    limit: int = 10
    snippets: bool = True
    hidden: HiddenDocuments = NONE_HIDDEN
    ranking: Ranking = DEFAULT
    by: SearchBy = SearchBy.WORDS
    most_words: bool = False

    @property
    def text(self) -> str:
        """The query text, "" if the query is a tree."""
        return self.query if isinstance(self.query, str) else ""


DateSpan = tuple[str, str]
"""Two timestamps of 14 digits, both inclusive; "" means open."""


@dataclass(frozen=True, slots=True)
class DateCondition:
    """A span and collection that must contain one (timestamp, collection) of a document.

    `spans` of None accepts any date, empty `collections` any collection.
    """

    spans: tuple[DateSpan, ...] | None = None
    collections: tuple[str, ...] = ()

    def is_met(self, timestamp: str, collection: str) -> bool:
        """Return whether a date meets the condition."""
        if self.collections and collection not in self.collections:
            return False
        spans = self.spans
        return spans is None or any(low <= timestamp <= (high or "9" * 14) for low, high in spans)


def range_condition(node: DateRange) -> DateCondition:
    """Return the condition of a date range in a query."""
    return DateCondition(((node.low, node.high),))


@dataclass(frozen=True, slots=True)
class DocumentQuery:
    """The documents that a question selects: a query tree, and filters by field.

    `date_from` and `date_to` are timestamps of 14 digits, both inclusive, "" for none. A document
    matches if one of its dates is between them, and also in a year of `filters["year"]` and a
    collection of `filters["collection"]` if given. With `pages_first`, documents below pages keep
    only a part of their score. Matching a node of `bonus` raises the score.
    """

    tree: Node
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    date_from: str = ""
    date_to: str = ""
    pages_first: bool = False
    ranking: Ranking = DEFAULT
    bonus: tuple[Node, ...] = ()

    def filters_facet(self, facet: str) -> bool:
        """Return whether this query filters by a facet; dates count as a year filter."""
        dated = facet == "year" and bool(self.date_from or self.date_to)
        return dated or facet in self.filters

    def date_condition(self) -> DateCondition | None:
        """Return the combined condition of the collection and year filters and dates, if any."""
        collections, years = (self.filters.get(name, ()) for name in ("collection", "year"))
        dated = bool(self.date_from or self.date_to)
        if not (collections or years or dated):
            return None
        spans: tuple[DateSpan, ...] | None = None
        if dated:
            spans = ((self.date_from, self.date_to),)
        if years:
            spans = tuple(self._spans_of(years))
        return DateCondition(spans, collections)

    def _spans_of(self, years: Sequence[str]) -> Iterator[DateSpan]:
        """Yield the parts of the date span within these years."""
        for year in years:
            low = max(self.date_from, f"{year}0101000000")
            high = min(self.date_to or "9" * 14, f"{year}1231235959")
            if low <= high:
                yield low, high

    def without(self, facet: str) -> Self:
        """Return the query without the filter of a facet.

        It counts the alternatives of a facet: with `language=de` every document is German, so other
        languages are counted without that filter.
        """
        others = {name: values for name, values in self.filters.items() if name != facet}
        if facet == "year":
            return replace(self, filters=others, date_from="", date_to="")
        return replace(self, filters=others)


def resolve(question: Question) -> DocumentQuery:
    """Return the document query of a question.

    Raises QueryError on a query with a syntax error, and UsageError on invalid dates, filters or
    sizes.
    """
    if not 0 <= question.limit <= MAX_LIMIT or question.offset < 0:
        raise UsageError.translated(
            "a page has 0 to %(most)s hits and begins at 0 or later", most=MAX_LIMIT
        )
    query = question.query
    filters: dict[str, tuple[str, ...]] = {}
    for name, values in question.filters.items():
        if values:
            field_name = _field(_no_filter, name)
            filters[field_name] = tuple(_value(name, field_name, value) for value in values)
    date_from, date_to = date_bounds(question.date_from, question.date_to)
    tree = resolve_tree(_parsed(query) if isinstance(query, str) else _checked(query))
    return DocumentQuery(
        tree=tree,
        filters=filters,
        date_from=date_from,
        date_to=date_to,
        pages_first=question.sort is Sort.RELEVANCE,
        ranking=question.ranking,
        bonus=question.ranking.bonus(tree) if question.sort in BY_SCORE else (),
    )


def loosened(question: Question, tree: Node) -> Question | None:
    """Return the question for most words of its tree, None if that does not apply."""
    looser = most_words(tree) if question.most_words else None
    return None if looser is None else replace(question, query=looser, most_words=False)


def answered_question(question: Question, has_most_words: Callable[[], bool]) -> Question:
    """Return the question that the hits of a question answer: that for most of its words, or it.

    `has_most_words` returns whether its result has `most_words`; only called if it may.
    """
    looser = loosened(question, resolve(question).tree)
    return looser if looser is not None and has_most_words() else question


def _parsed(query: str) -> Node:
    # Imported here: modules that only use the classes need not load the grammar.
    from nwx.query.parser import parse_query

    return parse_query(query)


def _checked(tree: Node) -> Node:
    check_cost(tree)  # the parser checks its own trees
    return tree


def facet_fields(question: Question) -> tuple[str, ...]:
    """Return the fields that the facets of a question count; raises UsageError for others."""
    return tuple(dict.fromkeys(_field(_no_facet, name) for name in question.facets))


def _field(refusal: Callable[[str, str], ErrorText], name: str) -> str:
    found = FILTERS.get(name, name)
    if found not in FACET_FIELDS:
        raise UsageError(refusal(repr(name[:80]), ", ".join(FILTERS)))
    return found


def _no_facet(name: str, choices: str) -> ErrorText:
    return ErrorText(
        "there is no facet %(name)s; use one of %(choices)s", name=name, choices=choices
    )


def _no_filter(name: str, choices: str) -> ErrorText:
    return ErrorText(
        "there is no filter %(name)s; use one of %(choices)s", name=name, choices=choices
    )


def _value(name: str, field_name: str, value: str) -> str:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        shown = value.encode("utf-8", "replace").decode()
        raise UsageError.translated(
            "the filter %(name)s=%(shown)s is not valid UTF-8; check the encoding of the terminal",
            name=name,
            shown=repr(shown),
        ) from error
    digits = value.isascii() and value.isdigit()
    if field_name == "status_code" and not (digits and len(value) < 10):
        raise QueryError.translated(
            "the field status_code holds numbers, %(value)s is not a number", value=repr(value[:40])
        )
    if field_name == "year" and not (digits and len(value) == 4):
        raise QueryError.translated(
            "%(value)s is not a year; write four digits", value=repr(value[:40])
        )
    return str(int(value)) if field_name == "status_code" else normal_name(field_name, value)
