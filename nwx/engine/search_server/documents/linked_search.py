"""Links in searches on a server: queries of documents found by links, and ranking by links."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from nwx.engine.inlinks.anchor_scores import (
    FACTOR_WINDOW,
    FoundTargets,
    LinkRanking,
    TargetSet,
)
from nwx.engine.inlinks.anchor_table import NO_TARGET, AnchorBlobs, AnchorTable
from nwx.engine.search_server.documents.compile import NOTHING, Query
from nwx.engine.search_server.documents.hidden_parts import NOTHING_HIDDEN, HiddenParts
from nwx.engine.search_server.schema import NUMBER
from nwx.engine.search_server.server import Body
from nwx.errors import QueryError
from nwx.model import FoundByLinks, ScoreParts
from nwx.query.question import DocumentQuery
from nwx.query.tree import (
    All,
    Leaf,
    Node,
    has_scores,
    joined_leaves,
)
from nwx.settings import RankingSettings

_MOST_KEYS = 65_535  # index.max_terms_count


@dataclass(frozen=True, slots=True)
class ScoredUrls:
    """Urlkeys of linked URLs whose anchors have the same (rounded) score."""

    score: float
    urlkeys: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LinkedQuery(DocumentQuery):
    """The documents of a question, including documents found by links.

    `leaves` has the queries of the leaves that are joined from inlinks. Documents of the URLs in
    `found` are included if they match `rest`. Unless `scored`, all scores by the documents' own
    words are equal. `hidden` documents are left out.
    """

    leaves: Mapping[Leaf, Query] = field(default_factory=dict)
    found: tuple[ScoredUrls, ...] = ()
    rest: Node = field(default_factory=All)
    scored: bool = True
    lower: float = 0.0
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
        return {"dis_max": {"queries": [words, linked], "tie_breaker": self.lower}}


def urls_query(urlkeys: Sequence[str]) -> Query:
    """Return the query of the documents with these urlkeys."""
    parts = [
        {"terms": {"urlkey": list(urlkeys[begin : begin + _MOST_KEYS])}}
        for begin in range(0, len(urlkeys), _MOST_KEYS)
    ]
    if not parts:
        return NOTHING
    return parts[0] if len(parts) == 1 else {"bool": {"should": parts, "minimum_should_match": 1}}


_MOST_URLS = 1_000_000
_STEPS = 20
"""Anchor scores are rounded to steps of one part in this many, as each one is a query clause."""


class LinkedSearches:
    """Joins searches with the current anchors; threads may share it."""

    def __init__(self, blobs: AnchorBlobs, weights: RankingSettings) -> None:
        self._blobs = blobs
        self._weights = weights

    def search(self, query: DocumentQuery, hidden: HiddenParts) -> "LinkedSearch":
        """Return the link data for a search that leaves out hidden documents."""
        table = self._blobs.table(hidden.rules)
        ranking = LinkRanking(table, query.ranking.links(self._weights))
        return LinkedSearch(query, ranking, hidden)


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A document of a result: its number, its score, and the inlink factor in the score."""

    number: int
    score: float
    factor: float


class LinkedSearch:
    """The link data of one search; `query` is the question plus documents found by links."""

    def __init__(
        self,
        query: DocumentQuery,
        ranking: LinkRanking,
        hidden: HiddenParts,
    ) -> None:
        self.table = ranking.table
        self.ranks = ranking.ranks
        self._ranking = ranking
        self._found = ranking.found(query.tree)
        levels = {} if self._found is None else _levels(self._found)
        self.is_scored = has_scores(query.tree) or bool(levels)
        self._scores = {target: score for score, targets in levels.items() for target in targets}
        self.query = LinkedQuery(
            tree=query.tree,
            filters=query.filters,
            date_from=query.date_from,
            date_to=query.date_to,
            pages_first=query.pages_first,
            ranking=query.ranking,
            bonus=query.bonus,
            leaves={leaf: self._leaf_query(leaf) for leaf in joined_leaves(query.tree)},
            found=tuple(
                ScoredUrls(score, tuple(self._urlkeys(targets)))
                for score, targets in sorted(levels.items())
            ),
            rest=query.tree if self._found is None else self._found.rest,
            scored=has_scores(query.tree),
            lower=min(1.0, ranking.lower),
            hidden=hidden,
        )

    def look_among(self, ids: Iterable[str]) -> None:
        """Restrict the search to the documents with these ids."""
        self.query = replace(self.query, filters={**self.query.filters, "id": tuple(ids)})

    def _urlkeys(self, targets: Sequence[int]) -> list[str]:
        return [] if self.table is None else self.table.keys.take(targets)

    def _leaf_query(self, leaf: Leaf) -> Query:
        found = self._ranking.leaf_targets(leaf)
        query = self._targets_query(found)
        return {"constant_score": {"filter": query}}

    def _targets_query(self, found: TargetSet) -> Query:
        size = 0 if self.table is None else self.table.size
        if not found.unlinked:
            return urls_query(self._some_urlkeys(found.targets.tolist()))
        others = np.delete(np.arange(size), found.targets)
        return {"bool": {"must_not": [urls_query(self._some_urlkeys(others.tolist()))]}}

    def _some_urlkeys(self, targets: Sequence[int]) -> list[str]:
        if len(targets) > _MOST_URLS:
            raise QueryError.translated(
                "%(count)s linked URLs match a part of this query, a search server can "
                "look up %(most)s; require more inlinks, or rarer anchor texts",
                count=len(targets),
                most=_MOST_URLS,
            )
        return self._urlkeys(targets)

    def factors(self, targets: Sequence[int]) -> list[float]:
        """Return the factors of scores, one per target."""
        found: list[float] = self._ranking.factors(np.array(targets, dtype=np.int64)).tolist()
        return found

    def targets(self, urlkeys: Sequence[str]) -> list[int]:
        """Return the targets with these urlkeys, NO_TARGET for unknown ones."""
        if self.table is None:
            return [NO_TARGET] * len(urlkeys)
        found: list[int] = self.table.targets(urlkeys).tolist()
        return found

    def score_parts(self, target: int, text: float, factor: float, *, is_below: bool) -> ScoreParts:
        """Return the parts of the score of a hit."""
        domains = int(self._ranking.domains(np.array([target], dtype=np.int64))[0])
        anchor = self._scores.get(target, 0.0)
        if self.query.pages_first:
            anchor *= self.query.ranking.below_pages if is_below else 1.0
        return ScoreParts(text, anchor, factor, domains)

    def found_by(self, target: int) -> FoundByLinks | None:
        """Return the anchor text by which a document was found, None if by none."""
        if self._found is None or target not in self._scores:
            return None
        return self._ranking.found_by(target, self._found.words)


def _levels(found: FoundTargets) -> Mapping[float, list[int]]:
    """Return targets grouped by rounded score."""
    levels: dict[float, list[int]] = {}
    for target, score in zip(found.targets.tolist(), found.scores.tolist(), strict=True):
        levels.setdefault(_rounded(score), []).append(target)
    return levels


def _rounded(score: float) -> float:
    if score <= 0:
        return 0.0
    step = 1 + 1 / _STEPS
    return float(step ** round(math.log(score, step)))


def most_linked(table: AnchorTable, size: int) -> Iterator[list[int]]:
    """Yield targets in steps of about `size`, those with the most linking pages first.

    Targets with equal numbers of linking pages are in the same step.
    """
    counts = table.counts("documents").astype(np.int64)
    order = np.argsort(-counts, kind="stable")
    begin = 0
    while begin < len(order):
        end = min(begin + size, len(order))
        end = int(np.searchsorted(-counts[order], -counts[order[end - 1]], side="right"))
        yield order[begin:end].tolist()
        begin = end


def ranking_body(fields: Iterable[str], wanted: int) -> Body:
    """Return the request body of a search that lists some fields of documents by score.

    `ranked_hits` accepts its hits if `urlkey` is one of the fields.
    """
    return {
        "size": max(wanted, FACTOR_WINDOW),
        "_source": False,
        "stored_fields": "_none_",
        "docvalue_fields": list({NUMBER, *fields}),
    }


def ranked_hits(hits: Sequence[Body], links: LinkedSearch) -> list[RankedHit]:
    """Return hits with factors: the first FACTOR_WINDOW sorted by score, then others without."""
    window = hits[:FACTOR_WINDOW]
    targets = links.targets([hit["fields"].get("urlkey", [""])[0] for hit in window])
    ranked = [
        RankedHit(hit["fields"][NUMBER][0], (hit["_score"] or 0.0) * factor, factor)
        for hit, factor in zip(window, links.factors(targets), strict=True)
    ]
    ranked.sort(key=lambda one: -one.score)
    further = (
        RankedHit(hit["fields"][NUMBER][0], hit["_score"] or 0.0, 1.0)
        for hit in hits[FACTOR_WINDOW:]
    )
    return [*ranked, *further]
