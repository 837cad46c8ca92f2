"""The index crawls on a server: specifications, scores of documents, the best link to each URL."""

import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice

from nwx.engine.crawls.crawl_index import (
    AnalysedVersion,
    CrawlIndex,
    DocumentScore,
    ScoredLink,
    StoredSpecification,
)
from nwx.engine.crawls.entries import (
    best_of,
    link_entry,
    link_from_entry,
    link_id,
    link_key,
    link_rank,
    score_entry,
    score_from_entry,
    score_id,
    specification_entry,
    specification_from_entry,
)
from nwx.engine.entries import IndexEntry
from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.cluster.copies import refresh
from nwx.engine.search_server.pages import entries_by_id, pages, search_page
from nwx.engine.search_server.schema import WRITTEN, Schema
from nwx.engine.search_server.server import Body, Server, pause
from nwx.errors import EngineBusyError, EngineConflictError, ErrorText
from nwx.model import IndexName
from nwx.values.timestamps import to_timestamp
from nwx.values.urls import url_parts

_ATTEMPTS = 10
_WINDOW = 10_000
_SCORES_AT_ONCE = 200
_VALUES_AT_ONCE = 10_000
_SPECIFICATIONS_AT_ONCE = 20
_MOST_VERSIONS = 10_000
_RANKS = 10**15
_CLOCK_SECONDS = 0.5
_BY_RELEVANCE: list[Body] = [{"relevance": {"order": "desc", "missing": "_last"}}, {"id": "asc"}]


class ServerCrawlIndex(CrawlIndex):
    """The index `<prefix>-crawls`, made when it is first written to.

    The best link to a URL is kept by versions that nwx gives (`external`):
    the server takes an entry only over one of a lower relevance.
    """

    def __init__(self, server: Server, schema: Schema) -> None:
        self._server = server
        self._schema = schema
        self._index = schema.name(IndexName.CRAWLS)
        self._is_made = False

    def specifications(self) -> list[StoredSpecification]:
        last: dict[str, StoredSpecification] = {}
        for entry in self._entries([_kind("specification")], [{"crawl": "asc"}, {"number": "asc"}]):
            last[entry["crawl"]] = specification_from_entry(entry)
        return list(last.values())

    def specification(
        self, name: str, version: str = "", number: int | None = None
    ) -> StoredSpecification | None:
        filters = [_kind("specification"), _term("crawl", name)]
        if version:
            filters.append(_term("version", version))
        if number is not None:
            filters.append(_term("number", number))
        found = islice(self._entries(filters, [{"number": "desc"}], 1), 1)
        return next(map(specification_from_entry, found), None)

    def versions(self, name: str) -> list[StoredSpecification]:
        filters = [_kind("specification"), _term("crawl", name)]
        entries = self._entries(filters, [{"number": "desc"}], _SPECIFICATIONS_AT_ONCE)
        return [specification_from_entry(entry) for entry in entries]

    def save_specification(
        self, name: str, version: str, text: str, expected: int | None = None
    ) -> StoredSpecification:
        self._make()
        for attempt in range(_ATTEMPTS):
            if attempt:
                pause(min(attempt, 4))
            last = self.specification(name)
            number = last.number if last else 0
            if expected is not None and expected != number:
                raise EngineConflictError(
                    ErrorText(
                        "the specification %(name)s was saved by somebody else meanwhile (number "
                        "%(number)s, expected %(expected)s); look at it and save again",
                        name=name,
                        number=number,
                        expected=expected,
                    )
                )
            if last and (last.version, last.text) == (version, text):
                return last
            saved = StoredSpecification(
                name, version, text, to_timestamp(datetime.now(UTC)), number + 1
            )
            entry = specification_entry(saved)
            action = BulkAction(self._index, entry["id"], entry, operation="create")
            if send(self._server, [action]) != ["conflict"]:
                return saved
        raise EngineBusyError(
            ErrorText(
                "others keep saving the specification %(name)s at %(address)s; try again later",
                name=name,
                address=self._server.address,
            )
        )

    def remove_specification(self, name: str) -> bool:
        if not self._refreshed():
            return False
        body: Body = {"query": _term("crawl", name), "_source": False}
        found = pages(self._server, self._index, body, [{"id": "asc"}], _WINDOW)
        ids = (hit["_id"] for page in found for hit in page)
        removed = send(self._server, (BulkAction(self._index, id, None, "delete") for id in ids))
        if removed:
            # Until a refresh after its clock has moved on (each 0.2 s), the server holds the
            # versions of deleted entries against links of lower relevance.
            time.sleep(_CLOCK_SECONDS)
            self._refreshed()
        return "deleted" in removed

    def analysed(self, crawl: str, version: str, ids: Collection[str]) -> set[str]:
        if not self._has_index():
            return set()
        wanted = {score_id(crawl, version, id): id for id in ids}
        found = entries_by_id(self._server, self._index, list(wanted), "false")
        return {wanted[id] for id in found}

    def analysed_versions(self, crawl: str) -> list[AnalysedVersion]:
        if not self._refreshed():
            return []
        kinds = {
            "documents": {"filter": _kind("score")},
            "urls": {"filter": _kind("link")},
            "last": {"max": {"field": WRITTEN}},
        }
        body: Body = {
            "size": 0,
            "query": {"bool": {"filter": [_term("crawl", crawl), _kind("score", "link")]}},
            "aggs": {
                "versions": {"terms": {"field": "version", "size": _MOST_VERSIONS}, "aggs": kinds}
            },
        }
        found = search_page(self._server, self._index, body)["aggregations"]["versions"]["buckets"]
        found.sort(key=lambda one: one["last"]["value"] or 0, reverse=True)
        return [
            AnalysedVersion(one["key"], one["documents"]["doc_count"], one["urls"]["doc_count"])
            for one in found
        ]

    def put_scores(self, scores: Sequence[DocumentScore]) -> None:
        if not scores:
            return
        self._make()
        new = self._new(scores)
        send(self._server, self._link_actions(new))
        # These come last: documents that have them are not put again after an interruption.
        send(self._server, self._score_actions(new))

    def _new(self, scores: Sequence[DocumentScore]) -> list[DocumentScore]:
        """Return the scores of documents that have none of their version yet."""
        by_id = {score_id(one.crawl, one.version, one.document_id): one for one in scores[::-1]}
        known = entries_by_id(self._server, self._index, list(by_id), "false")
        return [score for id, score in by_id.items() if id not in known][::-1]

    def _link_actions(self, scores: Sequence[DocumentScore]) -> Iterator[BulkAction]:
        by_version: dict[tuple[str, str], list[DocumentScore]] = defaultdict(list)
        for score in scores:
            by_version[score.crawl, score.version].append(score)
        for (crawl, version), found in by_version.items():
            for link in best_of(found).values():
                entry = link_entry(crawl, version, link, url_parts(link.url).host)
                rank = 1 + int(link_rank(link.relevance) * _RANKS)
                control = (("version", rank), ("version_type", "external"))
                yield BulkAction(self._index, entry["id"], entry, control=control)

    def _score_actions(self, scores: Iterable[DocumentScore]) -> Iterator[BulkAction]:
        for score in scores:
            entry = score_entry(score) | {WRITTEN: time.time_ns() // 1_000}
            yield BulkAction(self._index, entry["id"], entry, operation="create")

    def document_scores(self, crawl: str, version: str = "") -> Iterator[DocumentScore]:
        version = version or self._last_version(crawl)
        filters = [_kind("score"), _term("crawl", crawl), _term("version", version)]
        entries = self._entries(filters, [{"document_id": "asc"}], _SCORES_AT_ONCE)
        yield from map(score_from_entry, entries)

    def score_values(self, crawl: str, version: str = "") -> Iterator[tuple[str, float]]:
        version = version or self._last_version(crawl)
        filters = [_kind("score"), _term("crawl", crawl), _term("version", version)]
        order = [{"document_id": "asc"}]
        for entry in self._entries(filters, order, _VALUES_AT_ONCE, ("document_id", "score")):
            yield entry["document_id"], entry["score"]

    def best_links(
        self, crawl: str, limit: int, offset: int = 0, host: str = "", version: str = ""
    ) -> list[ScoredLink]:
        version = version or self._last_version(crawl)
        filters = [_kind("link"), _term("crawl", crawl), _term("version", version)]
        if host:
            filters.append(_term("host", host))
        if offset + limit > _WINDOW:
            entries = islice(self._entries(filters, _BY_RELEVANCE), offset, offset + limit)
            return [link_from_entry(entry) for entry in entries]
        if not version or not self._refreshed():
            return []
        body: Body = {"query": {"bool": {"filter": filters}}, "sort": _BY_RELEVANCE}
        body |= {"from": offset, "size": limit, "track_total_hits": False}
        hits = search_page(self._server, self._index, body)["hits"]["hits"]
        return [link_from_entry(hit["_source"]) for hit in hits]

    def relevances(
        self, crawl: str, version: str, urls: Collection[str]
    ) -> dict[str, float | None]:
        if not self._has_index():
            return {}
        keys = {url: link_key(url, url_parts(url).host) for url in urls}
        wanted = {link_id(crawl, version, key): url for url, key in keys.items()}
        found = entries_by_id(self._server, self._index, list(wanted), "relevance")
        return {wanted[id]: entry["_source"].get("relevance") for id, entry in found.items()}

    def _last_version(self, crawl: str) -> str:
        found = self.analysed_versions(crawl)
        return found[0].version if found else ""

    def _entries(
        self,
        filters: list[Body],
        sort: list[Body],
        size: int = 1_000,
        fields: Sequence[str] = ("*",),
    ) -> Iterator[IndexEntry]:
        """Stream the entries that match, or fields of them, as fresh as the last write."""
        if self._refreshed():
            query = {"query": {"bool": {"filter": filters}}, "_source": list(fields)}
            for page in pages(self._server, self._index, query, sort, size):
                for hit in page:
                    yield hit["_source"]

    def _refreshed(self) -> bool:
        """Make what was written visible to searches; return whether there is an index."""
        if self._has_index():
            refresh(self._server, self._index)
        return self._is_made

    def _has_index(self) -> bool:
        self._is_made = self._is_made or self._schema.is_made(IndexName.CRAWLS)
        return self._is_made

    def _make(self) -> None:
        if not self._has_index():
            self._schema.create_lazily(IndexName.CRAWLS)
            self._is_made = True


def _term(field: str, value: str | int) -> Body:
    return {"term": {field: value}}


def _kind(*kinds: str) -> Body:
    return {"terms": {"kind": list(kinds)}}
