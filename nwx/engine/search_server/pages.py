"""Searches on a server: single, batched, and whole results page by page."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from nwx.bulk.progress import batches
from nwx.engine.search_server import schema
from nwx.engine.search_server.refusals import (
    NO_SHARD_YET,
    entry_refused,
    missing_shards,
    read_refusal,
    refused,
)
from nwx.engine.search_server.schema import NUMBER
from nwx.engine.search_server.server import Body, Server, pause, quoted, to_lines
from nwx.engine.search_server.writes import refresh
from nwx.errors import EngineError, ErrorText, PartialAnswerError
from nwx.model import SearchResult
from nwx.query.question import Question

_PAGE = 1_000
UNREAD = "unread"
"""The name of aggregations used only by other aggregations: their values are not sent."""

NAMED = "numbers"
"""The name of aggregations of document numbers, each of which occurs once."""

_UNREAD = {
    UNREAD: (f"aggregations.{UNREAD}", f"aggregations.**.{UNREAD}"),
    NAMED: (f"aggregations.**.{NAMED}.buckets.doc_count",),
}
_KEEP_ALIVE = "5m"
_OK = 200
_ATTEMPTS, _LONGEST_PAUSE = 12, 4


def entries_by_id(server: Server, index: str, ids: Sequence[str], source: str) -> dict[str, Body]:
    """Return the entries with these ids, as of the last write.

    Values have `_id`, `_version`, `_seq_no`, `_primary_term` and `_source`. `source` names the
    fields wanted: `false` for none, `true` for all. Entries of lost shards are an error unless
    answers may be partial.
    """
    found: dict[str, Body] = {}
    for some in batches(ids, _PAGE):
        for entry in _entries(server, index, some, source):
            if entry.get("found"):
                found[entry["_id"]] = entry
    return found


def _entries(server: Server, index: str, ids: Sequence[str], source: str) -> list[Body]:
    """Return the server's answer for each id, retried while the index is being created."""
    key = "_source" if source in ("true", "false") else "_source_includes"
    attempt = 0
    while True:
        answer = server.request(
            "POST", f"/{quoted(index)}/_mget", {"ids": list(ids)}, params={key: source}
        )
        entries: list[Body] = answer["docs"]
        failed = [read_refusal(entry, _OK) for entry in entries if "error" in entry]
        if not failed:
            return entries
        does_not = ErrorText("does not give an entry of %(index)s", index=index)
        if others := [one for one in failed if NO_SHARD_YET not in one.types]:
            raise entry_refused(server.place, others[0], does_not)
        if partial := partial_answers():
            partial.add(1, 1)
            return entries
        attempt += 1
        if attempt == _ATTEMPTS:
            raise PartialAnswerError.translated(
                "%(place)s %(does_not)s: %(reason)s; see `nwx stats`",
                place=server.place,
                does_not=does_not,
                reason=failed[0].reason,
            )
        pause(min(attempt, _LONGEST_PAUSE))


def ids_of_all(server: Server, index: str) -> list[str]:
    """Return the ids of all entries of an index, as of the last write."""
    refresh(server, index)
    body: Body = {"_source": False, "query": {"match_all": {}}, "track_total_hits": False}
    return [hit["_id"] for page in walk(server, index, body, schema.PAGE) for hit in page]


def walk(server: Server, index: str, body: Body, size: int = _PAGE) -> Iterator[list[Body]]:
    """Stream the hits of a search in pages, in shard order.

    Each scan required by the server (`whole_scans`) reads one point in time.
    """
    for scan in server.whole_scans(index):
        yield from _further_pages(server, index, body | scan | {"size": size})


def search_page(server: Server, index: str, body: Body) -> Body:
    """Return the answer to one search.

    A missing shard is an error unless answers may be partial.
    """
    return _search(server, index, body, ",".join(f"-{path}" for path in _unread_paths(body)))


def _unread_paths(body: Body) -> list[str]:
    """Return the unneeded paths of an answer; filtering them also removes empty lists."""
    aggs = body.get("aggs", {})
    return [path for name, paths in _UNREAD.items() if _has(name, aggs) for path in paths]


def _has(name: str, aggs: Body) -> bool:
    """Return whether an aggregation, possibly nested, has this name."""
    return name in aggs or any(_has(name, one.get("aggs", {})) for one in aggs.values())


def _search(server: Server, index: str, body: Body, filter_path: str) -> Body:
    partial = partial_answers()
    allowed = "false" if partial is None else "true"
    params = {"allow_partial_search_results": allowed}
    if filter_path:
        params["filter_path"] = filter_path
    path = f"/{quoted(index)}/_search"
    answer = server.request("POST", path, body, params, whole=partial is None)
    if partial is not None:
        partial.add(missing_shards(answer), answer["_shards"]["total"])
    return answer


def search_pages(server: Server, index: str, bodies: Sequence[Body]) -> list[list[Body]]:
    """Return the hits of each of several searches, in one request, as `search_each`."""
    return [one["hits"]["hits"] for one in search_several(server, index, bodies)]


def search_several(server: Server, index: str, bodies: Sequence[Body]) -> list[Body]:
    """Return the answers to several searches of one index, as `search_each`."""
    return search_each(server, [Search(index, body) for body in bodies])


@dataclass(frozen=True, slots=True)
class Search:
    """A search body and its index."""

    index: str
    body: Body


def search_each(server: Server, searches: Sequence[Search]) -> list[Body]:
    """Return the answers to several searches, in one request.

    A missing shard is an error unless answers may be partial. A refused search raises the same
    error as it would alone.
    """
    if not searches:
        return []
    partial = partial_answers()
    allowed = partial is not None
    paths = {path for one in searches for path in _unread_paths(one.body)}
    params = {"filter_path": ",".join(f"-responses.{path}" for path in sorted(paths))}
    lines = to_lines(
        line
        for one in searches
        for line in ({"index": one.index, "allow_partial_search_results": allowed}, one.body)
    )
    answer = server.request(
        "POST", "/_msearch", lines, params if paths else None, whole=not allowed
    )
    found: list[Body] = answer["responses"]
    for one in found:
        if "error" in one:
            raise refused(server.place, read_refusal(one, int(one.get("status", _OK))))
        if partial is not None:
            partial.add(missing_shards(one), one["_shards"]["total"])
    return found


def count_hits(server: Server, index: str, query: Body, most: int | None = None) -> int:
    """Return the exact number of matching entries or, above `most`, any number above it."""
    body: Body = {"query": query, "size": 0, "track_total_hits": True}
    if most is not None:
        body["terminate_after"] = most + 1
    found: int = search_page(server, index, body)["hits"]["total"]["value"]
    return found


def numbers(server: Server, index: str, query: Body) -> list[int] | None:
    """Return the numbers of the matching entries, None if more than schema.MAX_IDS.

    The server caches the answer until the index changes.
    """
    return numbers_and(server, index, query, {})[0]


def numbers_and(
    server: Server, index: str, query: Body, aggs: Body
) -> tuple[list[int] | None, Body]:
    """Return the numbers of the matching entries, as `numbers`, and aggregations over them."""
    most = schema.MAX_IDS
    values = {NAMED: {"terms": {"field": NUMBER, "size": most}}}
    read = ["_shards", "timed_out", "hits.total.value", f"aggregations.{NAMED}.buckets.key"]
    body: Body = {"query": query, "size": 0, "aggs": values | aggs}
    body |= {"track_total_hits": most + 1, "terminate_after": most + 1}
    read += [f"aggregations.{name}.buckets" for name in aggs]
    answer = _search(server, index, body, ",".join(read))
    if answer["hits"]["total"]["value"] > most:
        return None, {}
    found = answer.get("aggregations", {})
    return read_numbers(found), found


def read_numbers(aggregations: Body) -> list[int]:
    """Return the numbers in the results of a NAMED aggregation."""
    return [bucket["key"] for bucket in aggregations.get(NAMED, {}).get("buckets", ())]


def numbers_search(index: str, query: Body, most: int) -> Search:
    """Return a search for the numbers of matching entries, to be read by `numbers_if_few`."""
    values = {NAMED: {"terms": {"field": NUMBER, "size": most + 1}}}
    body: Body = {"query": query, "size": 0, "aggs": values, "track_total_hits": most + 1}
    return Search(index, body | {"terminate_after": most + 1})


def among_search(index: str, query: Body, some: Sequence[int] | msgspec.Raw) -> Search:
    """Return a search for the numbers in `some` (at most schema.MAX_IDS) with matching entries."""
    values = {NAMED: {"terms": {"field": NUMBER, "size": schema.MAX_IDS, "include": some}}}
    return Search(index, {"query": query, "size": 0, "track_total_hits": False, "aggs": values})


def numbers_if_few(answer: Body, most: int) -> list[int] | None:
    """Return the numbers found by a `numbers_search`, None if more than `most`."""
    few = answer["hits"]["total"]["value"] <= most
    return read_numbers(answer.get("aggregations", {})) if few else None


def numbers_among(server: Server, index: str, query: Body, some: Sequence[int]) -> list[int]:
    """Return the numbers in `some` with matching entries; a number may have many entries."""
    found = numbers(server, index, within(query, some))
    if found is not None:
        return found
    if len(some) == 1:
        return list(some)
    middle = len(some) // 2
    halves = (some[:middle], some[middle:])
    return [one for half in halves for one in numbers_among(server, index, query, half)]


def within(query: Body, numbers: Sequence[int]) -> Body:
    """Return the query restricted to entries with these numbers."""
    return {"bool": {"must": [query], "filter": [{"terms": {NUMBER: list(numbers)}}]}}


def pages(
    server: Server, index: str, body: Body, sort: list[Any], size: int = _PAGE
) -> Iterator[list[Body]]:
    """Stream the hits of a search in pages; `sort` must be total.

    All pages after the first read one point in time.
    """
    body = body | {"sort": sort, "size": size, "track_total_hits": False}
    hits = search_page(server, index, body)["hits"]["hits"]
    if hits:
        yield hits
    if len(hits) == size:
        yield from _further_pages(server, index, body | {"search_after": hits[-1]["sort"]})


def _further_pages(server: Server, index: str, body: Body) -> Iterator[list[Body]]:
    pit = server.open_point(index, _KEEP_ALIVE)
    try:
        while True:
            body |= {"pit": {"id": pit, "keep_alive": _KEEP_ALIVE}}
            answer = server.request(
                "POST", "/_search", body, params={"allow_partial_search_results": "false"}
            )
            pit = answer.get("pit_id", pit)
            hits = answer["hits"]["hits"]
            if hits:
                yield hits
            if len(hits) < body["size"]:
                return
            body |= {"search_after": hits[-1]["sort"]}
    finally:
        # It expires anyway, and this must not hide an earlier error.
        with suppress(EngineError):
            server.close_point(pit)


class PartialAnswers:
    """The shards missing from the searches of one question."""

    def __init__(self) -> None:
        self.missing = 0
        self.shards = 0

    def add(self, missing: int, shards: int) -> None:
        """Record the shards of a search that did not answer; keeps the worst search."""
        if (missing, shards) > (self.missing, self.shards) and missing:
            self.missing, self.shards = missing, shards

    def result(self, found: SearchResult) -> SearchResult:
        """Return a result with its missing shards; if any, its counts are lower bounds."""
        if not self.missing:
            return found
        total, documents = (replace(one, relation="gte") for one in (found.total, found.documents))
        return replace(
            found,
            total=total,
            documents=documents,
            missing_shards=self.missing,
            shards=self.shards,
        )


_allowed: ContextVar[PartialAnswers | None] = ContextVar("partial", default=None)


@contextmanager
def partial_allowed() -> Iterator[PartialAnswers]:
    """Allow partial answers within the context; yield the record of missing shards.

    Applies only to searches that may be partial.
    """
    token = _allowed.set(PartialAnswers())
    try:
        yield partial_answers() or PartialAnswers()
    finally:
        _allowed.reset(token)


def searched(
    search: Callable[[Question], SearchResult], question: Question, *, partial: bool
) -> SearchResult:
    """Return the result of a question; a partial one reports the missing shards."""
    if not partial:
        return search(question)
    with partial_allowed() as lacking:
        found = search(question)
    return lacking.result(found)


def partial_answers() -> PartialAnswers | None:
    """Return the record of missing shards, None if answers must be complete."""
    return _allowed.get()
