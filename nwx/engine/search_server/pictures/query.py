"""Questions about pictures as searches on the server."""

from collections.abc import Iterable, Iterator

from nwx.engine.pictures.entries import WORD_FIELDS
from nwx.engine.pictures.picture_index import SIZE_LIMITS, PictureQuestion
from nwx.engine.search_server.schema import BITS
from nwx.engine.search_server.server import Body
from nwx.query.hidden import HiddenDocuments
from nwx.query.picture_words import PictureQuery
from nwx.query.tree import Bool, Node, Phrase, Wildcard

IS_PICTURE: Body = {"term": {"kind": "picture"}}
IS_APPEARANCE: Body = {"term": {"kind": "appearance"}}

_DATED = (
    ("picture", "timestamp", "collection"),
    ("page", "page_timestamp", "page_collection"),
)
_MOST_TERMS = 60_000
_BITS = 64
_WEIGHTED = [f"{name}^{weight}" for name, weight in WORD_FIELDS.items()]


def picture_query(question: PictureQuestion, query: PictureQuery) -> Body:
    """Return the search for the entries that a question is about."""
    filters: list[Body] = [{"exists": {"field": "picture"}}]
    without: list[Body] = list(hidden_terms(question.hidden))
    if query.words is None:
        filters = [IS_PICTURE]
    if question.size is not None:
        low, high = SIZE_LIMITS[question.size]
        filters.append({"range": {"long_side": {"gte": low, "lt": high}}})
    filters += [{"term": {"colours": colour}} for colour in question.colours]
    for name, wanted in (
        ("host", question.hosts),
        ("domain", question.domains),
        ("collection", question.collections),
    ):
        if wanted:
            filters.append({"terms": {name: list(wanted)}})
    if question.years:
        filters.append({"bool": {"should": [_year(year) for year in question.years]}})
    for field in query.conditions:
        condition = {"term": {field.field: field.value}}
        (without if field.is_not else filters).append(condition)
    # Entries that match by filters alone have no score.
    must = [] if query.words is None else [_words(query.words)]
    return {"bool": {"must": must, "filter": filters, "must_not": without}}


def _year(year: str) -> Body:
    return {"range": {"timestamp": {"gte": f"{year}0101000000", "lte": f"{year}1231235959"}}}


def hidden_terms(hidden: HiddenDocuments) -> Iterator[Body]:
    """Yield searches for all entries of hidden pictures, and of those on hidden pages."""
    known = list(_terms(hidden.apart.union(hidden.dates)))
    gone = list(_terms(hidden.documents))
    for name, timestamp, collection in _DATED:
        yield from ({"terms": {name: ids}} for ids in gone)
        others = [{"terms": {name: ids}} for ids in known]
        for span in hidden.spans:
            inside: list[Body] = [{"range": {timestamp: {"gte": span.first, "lte": span.last}}}]
            if span.collection:
                inside.append({"term": {collection: span.collection}})
            yield {"bool": {"filter": inside, "must_not": others}}


def _terms(ids: Iterable[str]) -> Iterator[list[str]]:
    """Yield ids in lists that are short enough for the server."""
    listed = sorted(ids)
    for start in range(0, len(listed), _MOST_TERMS):
        yield listed[start : start + _MOST_TERMS]


def similar_query(hash: int, distance: int, hidden: HiddenDocuments) -> Body:
    """Return the search for pictures of a like hash; the score is the number of equal bits.

    Each bit is a word, so that no script is needed, which servers may not run.
    """
    equal = [{"constant_score": {"filter": {"term": {BITS: bit}}}} for bit in bits_of(hash)]
    return {
        "bool": {
            "should": equal,
            "minimum_should_match": _BITS - distance,
            "must_not": list(hidden_terms(hidden)),
        }
    }


def bits_of(hash: int) -> list[str]:
    """Return a word for each bit of a hash."""
    return [f"{number}{'+' if hash >> number & 1 else '-'}" for number in range(_BITS)]


def distance_of(score: float) -> int:
    """Return how many bits differ, by the score of `similar_query`."""
    return _BITS - round(score)


def _words(node: Node) -> Body:
    match node:
        case Phrase():
            return {"multi_match": {"query": node.text, "fields": _WEIGHTED, "type": "phrase"}}
        case Wildcard():
            beginning = node.pattern.removesuffix("*")
            each = [{"prefix": {name: beginning}} for name in WORD_FIELDS]
            return {"bool": {"should": each, "minimum_should_match": 1}}
        case Bool():
            return _bool(node)
        case _:
            return {"match_all": {}}


def _bool(node: Bool) -> Body:
    found: Body = {
        "must": [_words(part) for part in node.must],
        "must_not": [_words(part) for part in node.must_not],
    }
    if not node.must and node.should:
        found["should"] = [_words(part) for part in node.should]
        found["minimum_should_match"] = 1
    return {"bool": found}
