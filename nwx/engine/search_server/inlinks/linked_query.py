"""A question with what links add to it, as the index of documents is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from nwx.engine.search_server.documents.compile import NOTHING, Query
from nwx.engine.search_server.documents.hidden_parts import NOTHING_HIDDEN, HiddenParts
from nwx.query.leaves import Leaf
from nwx.query.question import DocumentQuery
from nwx.query.tree import All, Node

_MOST_KEYS = 65_535  # index.max_terms_count


@dataclass(frozen=True, slots=True)
class ScoredUrls:
    """Linked URLs, by urlkey, that anchors give a score."""

    score: float
    urlkeys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinkedQuery(DocumentQuery):
    """The documents that a question is about, those found by links included.

    `leaves` has the queries of the leaves that are joined from inlinks.
    Documents of the URLs of `found` are in where they meet `rest`.
    All scores of the documents' own words are equal unless `scored`.
    What is `hidden` is left out.
    """

    leaves: Mapping[Leaf, Query] = field(default_factory=dict)
    found: tuple[ScoredUrls, ...] = ()
    rest: Node = field(default_factory=All)
    scored: bool = True
    hidden: HiddenParts = NOTHING_HIDDEN

    def with_found(self, words: Query, rest: Query) -> Query:
        """Return the query of documents that match by their words or were found by links."""
        if not self.found:
            return words
        if not self.scored:
            words = {"constant_score": {"filter": words, "boost": 0.0}}
        levels = [
            {"constant_score": {"filter": urls_query(one.urlkeys), "boost": one.score}}
            for one in self.found
        ]
        linked = {"bool": {"must": [{"dis_max": {"queries": levels}}], "filter": [rest]}}
        return {"dis_max": {"queries": [words, linked]}}


def urls_query(urlkeys: Sequence[str]) -> Query:
    """Return the query of the documents of some URLs."""
    parts = [
        {"terms": {"urlkey": list(urlkeys[begin : begin + _MOST_KEYS])}}
        for begin in range(0, len(urlkeys), _MOST_KEYS)
    ]
    if not parts:
        return NOTHING
    return parts[0] if len(parts) == 1 else {"bool": {"should": parts, "minimum_should_match": 1}}
