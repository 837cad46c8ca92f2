"""The index `crawls` on a server: specifications, document scores, the best link to each URL."""

import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from nwx.bulk.progress import batches
from nwx.engine.indices.crawl_index import (
    AnalysedVersion,
    CrawlIndex,
    DocumentScore,
    ScoredLink,
    StoredSpecification,
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
from nwx.engine.indices.entry_store import OrderField
from nwx.engine.search_server.entries.store import ServerEntryStore, entry_query, term
from nwx.engine.search_server.schema import WRITTEN
from nwx.engine.search_server.server import Body
from nwx.engine.search_server.writes import BulkAction, send
from nwx.values.urls import url_parts

_WINDOW = 10_000
_SCORES_AT_ONCE = 200
_VALUES_AT_ONCE = 10_000
_SPECIFICATIONS_AT_ONCE = 20
_MOST_VERSIONS = 10_000
_RANKS = 10**15
_CLOCK_SECONDS = 0.5
_SAVED = {"kind": "specification"}
_LAST_FIRST = (OrderField("number", descending=True),)
_BEST = (OrderField("relevance", descending=True),)
_BY_ID: list[Body] = [{"id": "asc"}]
_BY_NUMBER: list[Body] = [{"number": "desc"}]
_BY_DOCUMENT: list[Body] = [{"document_id": "asc"}]


class ServerCrawlIndex(CrawlIndex):
    """The index `<prefix>-crawls`, created on the first write.

    The best link to a URL is kept by external versions that grow with relevance: the server accepts
    an entry only in place of one with lower relevance.
    """

    def __init__(self, store: ServerEntryStore) -> None:
        self._store = store

    def specifications(self) -> list[StoredSpecification]:
        by_number = (OrderField("crawl"), OrderField("number"))
        found = map(specification_from_entry, self._store.find(_SAVED, by_number))
        return list({one.name: one for one in found}.values())

    def specification(
        self, name: str, version: str = "", number: int | None = None
    ) -> StoredSpecification | None:
        wanted = {"crawl": name, "version": version or None, "number": number}
        where = _SAVED | {field: value for field, value in wanted.items() if value is not None}
        found = self._store.find(where, _LAST_FIRST, 1)
        return next(map(specification_from_entry, found), None)

    def versions(self, name: str) -> list[StoredSpecification]:
        query = entry_query(_SAVED | {"crawl": name})
        found = self._store.stream(query, _BY_NUMBER, size=_SPECIFICATIONS_AT_ONCE)
        return [specification_from_entry(hit["_source"]) for hit in found]

    def _added(self, stored: StoredSpecification) -> bool:
        entry = specification_entry(stored)
        self._store.make()
        return not self._store.write({entry["id"]: entry}, {})

    def remove_specification(self, name: str) -> bool:
        query = entry_query({"crawl": name})
        found = self._store.stream(query, _BY_ID, source=False, size=_WINDOW)
        removed = self._store.delete([hit["_id"] for hit in found])
        if removed:
            # The server's clock moves every 0.2 s; until a refresh after that, it compares new
            # links with the versions of deleted entries.
            time.sleep(_CLOCK_SECONDS)
            self._store.refresh()
        return bool(removed)

    def replace_specification(self, stored: StoredSpecification) -> None:
        self._store.put([specification_entry(stored)])

    def analysed(self, crawl: str, version: str, ids: Collection[str]) -> set[str]:
        wanted = {score_id(crawl, version, id): id for id in ids}
        return {wanted[id] for id in self._store.get(list(wanted), ("kind",))}

    def analysed_versions(self, crawl: str) -> list[AnalysedVersion]:
        if not self._store.refresh():
            return []
        kinds = {
            "documents": {"filter": term("kind", "score")},
            "urls": {"filter": term("kind", "link")},
            "last": {"max": {"field": WRITTEN}},
        }
        body: Body = {
            "size": 0,
            "query": entry_query({"crawl": crawl, "kind": ("score", "link")}),
            "aggs": {
                "versions": {"terms": {"field": "version", "size": _MOST_VERSIONS}, "aggs": kinds}
            },
        }
        found = self._store.search(body)["aggregations"]["versions"]["buckets"]
        found.sort(key=lambda one: one["last"]["value"] or 0, reverse=True)
        return [
            AnalysedVersion(one["key"], one["documents"]["doc_count"], one["urls"]["doc_count"])
            for one in found
        ]

    def put_scores(self, scores: Sequence[DocumentScore]) -> None:
        if not scores:
            return
        self._store.make()
        new = self._new(scores)
        send(self._store.server, self._link_actions(new))
        # Scores are written last: documents that have one are skipped after an interruption.
        written = {WRITTEN: time.time_ns() // 1_000}
        self._store.write({entry["id"]: entry | written for entry in map(score_entry, new)}, {})

    def _new(self, scores: Sequence[DocumentScore]) -> list[DocumentScore]:
        """Return the scores of documents without a stored score of that version."""
        by_id = {score_id(one.crawl, one.version, one.document_id): one for one in scores[::-1]}
        known = self._store.get(list(by_id), ("kind",))
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
                yield BulkAction(self._store.alias, entry["id"], entry, control=control)

    def remove_documents(self, ids: Collection[str], urls: Collection[str]) -> int:
        scores = self._with_values("score", "document_id", ids)
        leading = self._with_values("link", "url", urls)
        links = self._store.stream(entry_query({"kind": "link"}), _BY_ID, ["via"])
        found_on = (hit["_id"] for hit in links if hit["_source"].get("via") in urls)
        return self._store.delete(dict.fromkeys((*scores, *leading, *found_on)))

    def _with_values(self, kind: str, field: str, values: Collection[str]) -> Iterator[str]:
        """Yield the ids of the entries of a kind with one of these values."""
        for some in batches(values, _WINDOW):
            query = entry_query({"kind": kind, field: tuple(some)})
            yield from (hit["_id"] for hit in self._store.stream(query, _BY_ID, source=False))

    def document_scores(self, crawl: str, version: str = "") -> Iterator[DocumentScore]:
        where = self._where("score", crawl, version)
        found = self._store.stream(entry_query(where), _BY_DOCUMENT, size=_SCORES_AT_ONCE)
        yield from (score_from_entry(hit["_source"]) for hit in found)

    def score_values(self, crawl: str, version: str = "") -> Iterator[tuple[str, float]]:
        query = entry_query(self._where("score", crawl, version))
        values = ["document_id", "score"]
        for hit in self._store.stream(query, _BY_DOCUMENT, values, _VALUES_AT_ONCE):
            yield hit["_source"]["document_id"], hit["_source"]["score"]

    def best_links(
        self, crawl: str, limit: int, offset: int = 0, host: str = "", version: str = ""
    ) -> list[ScoredLink]:
        where = self._where("link", crawl, version) | ({"host": host} if host else {})
        return [link_from_entry(one) for one in self._store.find(where, _BEST, limit, offset)]

    def relevances(
        self, crawl: str, version: str, urls: Collection[str]
    ) -> dict[str, float | None]:
        keys = {url: link_key(url, url_parts(url).host) for url in urls}
        wanted = {link_id(crawl, version, key): url for url, key in keys.items()}
        found = self._store.get(list(wanted), ("relevance",))
        return {wanted[id]: entry.get("relevance") for id, entry in found.items()}

    def _where(self, kind: str, crawl: str, version: str) -> dict[str, str]:
        """Return the conditions on entries of a version; "" means the last one written."""
        if not version:
            found = self.analysed_versions(crawl)
            version = found[0].version if found else ""
        return {"kind": kind, "crawl": crawl, "version": version}
