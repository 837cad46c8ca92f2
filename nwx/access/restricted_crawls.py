"""Crawl specifications, queued URLs, and scores of documents and links, for a viewer."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import merge
from itertools import groupby, islice

from nwx.access.hidden_urls import HiddenUrls
from nwx.access.restricted_captures import forwarded, writing_refused
from nwx.access.restricted_entries import VisibleEntries
from nwx.bulk.progress import batches
from nwx.engine.base import Engine
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.crawl_index import (
    AnalysedVersion,
    CrawlIndex,
    DocumentScore,
    ScoredLink,
    best_of,
    link_entry,
    link_from_entry,
    link_key,
    link_rank,
    score_entry,
    score_from_entry,
)
from nwx.engine.indices.crawl_queue import CrawlQueue, QueueCounts, QueuedUrl
from nwx.model import Dates
from nwx.values.urls import url_parts

_AT_ONCE = 500
_PAGE = 1_000

VisibleDatesOf = Callable[[Sequence[str]], dict[str, Dates]]
"""Returns the visible dates of documents by id, without documents that have none."""


@dataclass(frozen=True, slots=True)
class _Correction:
    """Corrections to the stored scores of a version, as some documents are hidden.

    `documents` are hidden. `best` maps URLs to the best link from other documents, None without
    one. `hidden_urls` counts the linked URLs hidden from the viewer.
    """

    documents: frozenset[str]
    best: dict[str, ScoredLink | None]
    hidden_urls: int


class RestrictedCrawlIndex(CrawlIndex):
    """The visible part of the index `crawls`; specifications are written to the full index."""

    def __init__(self, engine: Engine, urls: HiddenUrls, visible: VisibleDatesOf) -> None:
        self._engine, self._urls = engine, urls
        self._index = engine.crawl_index()
        self._visible = visible
        self._corrections: dict[tuple[str, str], tuple[tuple[object, ...], _Correction]] = {}

    specifications = forwarded("_index")
    specification = forwarded("_index")
    _added = forwarded("_index")
    versions = forwarded("_index")
    remove_specification = forwarded("_index")
    put_scores = forwarded("_index")
    replace_specification = remove_documents = writing_refused

    def analysed(self, crawl: str, version: str, ids: Collection[str]) -> set[str]:
        found = self._index.analysed(crawl, version, ids)
        return found - self._hidden_ids(list(found))

    def analysed_versions(self, crawl: str) -> list[AnalysedVersion]:
        """Return the versions with scores, counted without hidden documents and URLs."""
        return [self._counted(crawl, one) for one in self._index.analysed_versions(crawl)]

    def _counted(self, crawl: str, one: AnalysedVersion) -> AnalysedVersion:
        correction = self._correction(crawl, one.version)
        gone = sum(link is None for link in correction.best.values())
        return replace(
            one,
            documents=one.documents - len(correction.documents),
            urls=one.urls - gone - correction.hidden_urls,
        )

    def document_scores(self, crawl: str, version: str = "") -> Iterator[DocumentScore]:
        for some in batches(self._index.document_scores(crawl, version), _AT_ONCE):
            yield from self.shown(some)

    def shown(self, scores: Sequence[DocumentScore]) -> Iterator[DocumentScore]:
        """Yield the scores of visible documents, without links to hidden URLs."""
        dates = self._dates_of([one.document_id for one in scores])
        hidden = self._urls.among({link.url for one in scores for link in one.links})
        for one in scores:
            seen = dates.get(one.document_id)
            if seen is None:
                continue
            times = [timestamp for timestamp, _ in seen.seen]
            links = tuple(link for link in one.links if link.url not in hidden)
            if times and one.timestamp not in times:
                one = replace(one, timestamp=min(times))
            yield one if len(links) == len(one.links) else replace(one, links=links)

    def score_values(self, crawl: str, version: str = "") -> Iterator[tuple[str, float]]:
        for some in batches(self._index.score_values(crawl, version), _AT_ONCE):
            hidden = self._hidden_ids([id for id, _ in some])
            yield from ((id, score) for id, score in some if id not in hidden)

    def best_links(
        self, crawl: str, limit: int, offset: int = 0, host: str = "", version: str = ""
    ) -> list[ScoredLink]:
        """Return visible linked URLs, each once, with scores from visible documents."""
        correction = self._correction(crawl, version)
        other = [
            link
            for link in correction.best.values()
            if link is not None and host in ("", url_parts(link.url).host)
        ]
        stored = self._stored_links(crawl, host, version, correction)
        found = merge(stored, self._visible_links(sorted(other, key=_order)), key=_order)
        return list(islice(found, offset, offset + limit))

    def _stored_links(
        self, crawl: str, host: str, version: str, correction: _Correction
    ) -> Iterator[ScoredLink]:
        place = 0
        while some := self._index.best_links(crawl, _PAGE, place, host, version):
            place += len(some)
            yield from self._visible_links(
                [link for link in some if link.url not in correction.best]
            )
            if len(some) < _PAGE:
                return

    def _visible_links(self, links: Sequence[ScoredLink]) -> Iterator[ScoredLink]:
        hidden = self._urls.among({link.url for link in links})
        return (link for link in links if link.url not in hidden)

    def shown_link(self, crawl: str, version: str, link: ScoredLink) -> ScoredLink | None:
        """Return a stored link with its score from visible documents, None without one."""
        found = self._correction(crawl, version).best.get(link.url, link)
        return None if found is None or self._urls.among([found.url]) else found

    def relevances(
        self, crawl: str, version: str, urls: Collection[str]
    ) -> dict[str, float | None]:
        found = self._index.relevances(crawl, version, urls)
        best = self._correction(crawl, version).best
        for url in found.keys() & best.keys():
            link = best[url]
            if link is None:
                del found[url]
            else:
                found[url] = link.relevance
        hidden = self._urls.among(found.keys())
        return {url: relevance for url, relevance in found.items() if url not in hidden}

    def _correction(self, crawl: str, version: str) -> _Correction:
        """Return corrections to the stored scores, cached until scores or captures change."""
        versions = self._index.analysed_versions(crawl)
        stamp = (tuple(versions), self._engine.capture_mark())
        known = self._corrections.get((crawl, version))
        if known is None or known[0] != stamp:
            known = stamp, self._corrected(crawl, version)
            self._corrections[crawl, version] = known
        return known[1]

    def _corrected(self, crawl: str, version: str) -> _Correction:
        documents: set[str] = set()
        for some in batches((id for id, _ in self._index.score_values(crawl, version)), _AT_ONCE):
            documents |= self._hidden_ids(some)
        best: dict[str, ScoredLink | None] = {}
        if documents:
            best = self._best_without(crawl, version, documents)
        hidden = self._hidden_links(crawl, version, best)
        return _Correction(frozenset(documents), best, hidden)

    def _best_without(
        self, crawl: str, version: str, documents: set[str]
    ) -> dict[str, ScoredLink | None]:
        """Return the best visible link to each URL that a hidden document links to."""
        best: dict[str, ScoredLink | None] = {}
        for score in self._index.document_scores(crawl, version):
            if score.document_id in documents:
                best.update((link.url, None) for link in score.links)
        for score in self._index.document_scores(crawl, version):
            if score.document_id not in documents:
                for url, link in best_of([score]).items():
                    known = best.get(url)
                    if url in best and (
                        known is None or link_rank(link.relevance) > link_rank(known.relevance)
                    ):
                        best[url] = link
        return best

    def _hidden_links(self, crawl: str, version: str, best: dict[str, ScoredLink | None]) -> int:
        """Count the linked URLs that are hidden, though visible documents link to them."""
        number, place = 0, 0
        while some := self._index.best_links(crawl, _PAGE, place, version=version):
            place += len(some)
            number += len(
                self._urls.among({one.url for one in some if best.get(one.url, one) is not None})
            )
            if len(some) < _PAGE:
                break
        return number

    def _hidden_ids(self, ids: Sequence[str]) -> set[str]:
        return set(ids) - self._dates_of(ids).keys()

    def _dates_of(self, ids: Sequence[str]) -> dict[str, Dates]:
        """Return the visible dates of documents; documents missing in the archive have none."""
        known = self._engine.dates(ids)
        lost = {id: Dates("", ()) for id in ids if id not in known}
        return lost | self._visible(ids)


def _order(link: ScoredLink) -> tuple[float, bytes]:
    """Return the sort key of a link: the most relevant first, blacklisted ones last."""
    relevance = -1.0 if link.relevance is None else link.relevance
    return -relevance, link_key(link.url, url_parts(link.url).host)


class VisibleCrawlEntries(VisibleEntries):
    """All specifications, and the scores of visible documents and links."""

    def shown(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        crawls = self._restricted.crawl_index()
        for kind, same in groupby(entries, key=lambda one: one["kind"]):
            if kind == "score":
                yield from map(score_entry, crawls.shown(list(map(score_from_entry, same))))
            elif kind == "link":
                yield from filter(None, (_shown_link(crawls, entry) for entry in same))
            else:
                yield from same


def _shown_link(crawls: RestrictedCrawlIndex, entry: IndexEntry) -> IndexEntry | None:
    crawl, version, link = entry["crawl"], entry["version"], link_from_entry(entry)
    found = crawls.shown_link(crawl, version, link)
    if found is None or found == link:
        return entry if found else None
    return link_entry(crawl, version, found, entry["host"])


class RestrictedCrawlQueue(CrawlQueue):
    """The queue of an archive, listed and counted without hidden URLs.

    Crawlers put, lease and finish as usual: access rules do not restrict fetching.
    """

    def __init__(self, engine: Engine, urls: HiddenUrls) -> None:
        self._queue = engine.crawl_queue()
        self._urls = urls

    put = forwarded("_queue")
    lease = forwarded("_queue")
    finish = forwarded("_queue")
    release = forwarded("_queue")
    crawls = forwarded("_queue")
    problems = forwarded("_queue")
    forget_pages = writing_refused

    def counts(self, crawl: str = "") -> QueueCounts:
        states = Counter(str(one.state) for one in self.scan(crawl))
        return QueueCounts(**states)

    def scan(self, crawl: str = "") -> Iterator[QueuedUrl]:
        """Yield the URLs of a crawl that are not hidden, without hidden linking pages."""
        for some in batches(self._queue.scan(crawl), _AT_ONCE):
            hidden = self._urls.among({url for one in some for url in (one.url, one.via)})
            for one in some:
                if one.url not in hidden:
                    yield one._replace(via="") if one.via in hidden else one


class VisibleQueueEntries(VisibleEntries):
    """The queued URLs that are not hidden, without hidden linking pages."""

    def shown(self, entries: Sequence[IndexEntry]) -> Iterator[IndexEntry]:
        urls = {one[name] for one in entries for name in ("url", "via") if one.get(name)}
        hidden = self._restricted.hidden_urls(urls)
        for entry in entries:
            if entry.get("url") not in hidden:
                if entry.get("via") in hidden:
                    del entry["via"]
                yield entry
