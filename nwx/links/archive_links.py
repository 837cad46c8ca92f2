"""The links to a URL or host and of a page, from the current build, with a cache of graphs."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import groupby, islice
from threading import Lock

import polars as pl
from cachetools import LRUCache

from nwx.bulk.progress import batches
from nwx.engine.base import Engine
from nwx.engine.inlinks.links import HostInlinks, LinkRow, link_rows, target_links
from nwx.errors import NotBuiltError, UrlError, UsageError
from nwx.keys import capture_key, document_id, is_browsed
from nwx.links.document_table import HostLinks, host_links, link_frames
from nwx.links.host_graph import (
    Centrality,
    HostGraph,
    Neighbourhood,
    centrality,
    domain_graph,
    graph_of_cell,
    neighbourhood,
)
from nwx.links.parts import clean_anchor
from nwx.model import Anchor, Capture, Collapse, Inlink, Link, LinkCell, LinkCounts
from nwx.query.question import Question
from nwx.query.tree import Bool, Term
from nwx.values.urlkeys import urlkey
from nwx.values.urls import clean_url, domain_of_host, head_of_host, host_of_urlkey, present_kind

ALL_LINKS = LinkCell()

LOWEST_ERROR = 400
"""Captures with this status or a higher one are errors."""

_GRAPHS, _RANKED = 6, 2
_WWW = "www."


class ArchiveLinks:
    """The inlinks of an archive, fixed to the build that was current when opened."""

    def __init__(self, engine: Engine) -> None:
        """Open the current build; raises NotBuiltError if links were never inverted."""
        self._index = engine.inlink_index()
        table = self._index.table()
        if table is None:
            raise NotBuiltError.translated(
                "the links of this archive are not inverted yet; run `nwx invert-links` first"
            )
        self.table = table

    def is_current(self) -> bool:
        """Return whether no document or date was written or deleted since links were inverted."""
        return self._index.stamp() == self.table.notes.stamp

    def counts(self, urlkey: str, cell: LinkCell = ALL_LINKS) -> LinkCounts | None:
        """Return the counts of the links to a URL, None without links to it."""
        links = target_links(self.table, urlkey)
        return None if links is None else links.counts(cell)

    def inlinks(self, urlkey: str, cell: LinkCell = ALL_LINKS) -> Iterator[Inlink]:
        """Yield the links to a URL in the order of linking urlkey, kind and text."""
        links = target_links(self.table, urlkey)
        return iter(()) if links is None else links.inlinks(cell)

    def anchors(self, urlkey: str, cell: LinkCell = ALL_LINKS) -> tuple[Anchor, ...]:
        """Return the anchor texts of the links to a URL from all hosts, its own included."""
        links = target_links(self.table, urlkey)
        return () if links is None else links.anchors(cell)

    def of_host(self, host: str) -> HostInlinks:
        """Return the links from other hosts to all URLs of a host."""
        return HostInlinks(self.table, host)

    def years(self) -> list[int]:
        """Return the years of captures that have links."""
        return self.table.years()

    def rows(self) -> Iterator[LinkRow]:
        """Yield all links in the order of target, source, kind and text."""
        return link_rows(self.table)

    def host_links(self) -> Iterator[HostLinks]:
        """Yield the number of links between hosts, in total (year None) and by year."""
        return host_links(self.table)

    def frames(self, cell: LinkCell = ALL_LINKS) -> Iterator[pl.DataFrame]:
        """Yield the links of a cell as tables, see `link_frames`."""
        return link_frames(self.table, cell)

    def host_graph(self, cell: LinkCell = ALL_LINKS) -> HostGraph:
        """Return the graph of the hosts that link and are linked to in a cell."""
        return graph_of_cell(self.table, cell)


_SCHEME = "://"


@dataclass(frozen=True, slots=True)
class AskedPlace:
    """A URL with its urlkey, or a host without one."""

    text: str
    urlkey: str
    host: str

    @property
    def is_host(self) -> bool:
        """Whether the place is a host, that is, all its URLs."""
        return not self.urlkey


def asked_place(text: str) -> AskedPlace:
    """Return the place that a text names: a URL if it has a scheme or a path, else a host.

    Raises UsageError on anything else.
    """
    is_url = _SCHEME in text or "/" in text
    try:
        url = clean_url(text if _SCHEME in text else f"http://{text}")
        key = urlkey(url)
    except UrlError as error:
        raise UsageError.translated(
            "%(text)s is neither a URL nor a host", text=repr(text[:80])
        ) from error
    host = host_of_urlkey(key)
    if not host or (not is_url and "." not in host and host[0] != "[" and host != "localhost"):
        raise UsageError.translated(
            "%(text)s is neither a URL nor a host; write http://… or HOST", text=repr(text[:80])
        )
    return AskedPlace(text, key if is_url else "", host)


_AT_ONCE = 500


_OK, _REDIRECTION = 200, 300


@dataclass(frozen=True, slots=True)
class PageOutlink:
    """A link of a page; `captured` if the linked URL was ever captured."""

    page: str
    timestamp: str
    url: str
    kind: str
    text: str
    captured: bool


def outlinks_of(engine: Engine, place: AskedPlace, cell: LinkCell) -> Iterator[PageOutlink]:
    """Yield the links of the newest capture in a cell, of a URL or of each URL of a host.

    For a host, only links to other hosts. Ordered by urlkey of the page, then as on the page.
    """
    for capture in _newest(engine, place, cell):
        ids = [capture.document_id, document_id(capture_key(capture))]
        held = engine.documents(ids)
        found = [link for id in ids if id in held for link in held[id].extract.links]
        for links in batches(found, _AT_ONCE):
            keys = [_urlkey(link.url) for link in links]
            statuses: Mapping[str, int | None] = engine.statuses([key for key in keys if key])
            for link, key in zip(links, keys, strict=True):
                if place.is_host and host_of_urlkey(key) == place.host:
                    continue
                yield PageOutlink(
                    capture.url,
                    capture.timestamp,
                    link.url,
                    link.kind,
                    clean_anchor(link.text),
                    key in statuses,
                )


def _newest(engine: Engine, place: AskedPlace, cell: LinkCell) -> Iterator[Capture]:
    """Yield the newest capture of each URL in a cell, among captures with a document.

    Redirects and errors are taken only if a URL has no other capture: captures of `http` and
    `https` and with and without `www` have the same urlkey.
    """
    for _, captures in groupby(_captures(engine, place), key=lambda one: one.urlkey):
        wanted = [one for one in captures if one.document_id and _is_in(one, cell)]
        pages = [one for one in wanted if (one.status_code or _OK) < _REDIRECTION]
        yield from (pages or wanted)[-1:]


def _captures(engine: Engine, place: AskedPlace) -> Iterator[Capture]:
    if not place.is_host:
        yield from engine.captures(place.urlkey)
        return
    head = head_of_host(place.host)
    for sign in (")", ":"):
        yield from engine.captures(f"{head}{sign}", f"{head}{chr(ord(sign) + 1)}")


def _is_in(capture: Capture, cell: LinkCell) -> bool:
    if cell.year is not None and int(capture.timestamp[:4]) != cell.year:
        return False
    return not cell.collection or capture.collection == cell.collection


def _urlkey(url: str) -> str:
    try:
        return urlkey(url)
    except UrlError:
        return ""


def link_keys(links: Iterable[Link]) -> Iterator[tuple[str, Link]]:
    """Yield links with their urlkeys; invalid and not browsable URLs are left out."""
    for link in links:
        if is_browsed(link.url):
            with suppress(UrlError):
                yield urlkey(link.url), link


@dataclass(frozen=True, slots=True)
class GraphKey:
    """The key of a graph: hosts or domains, in a cell."""

    domains: bool
    cell: LinkCell = ALL_LINKS


@dataclass(frozen=True, slots=True)
class UrlInlinks:
    """The links to a URL in a cell, and some of them.

    `years` has the number of linking pages by year. `more` is true if more links follow `listed`.
    `status` is the lowest status of the URL's captures, None without any.
    """

    counts: LinkCounts
    years: Mapping[str, int]
    listed: Sequence[Inlink]
    more: bool
    status: int | None


@dataclass(frozen=True, slots=True)
class LinkGraph:
    """Hosts or domains, the links among them, and the number of documents of each."""

    around: Neighbourhood
    documents: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class OutlinkState:
    """A link of a document, and whether its target was captured.

    `state` is `captured`, `error` (only captured with errors), `never`, or "" for an invalid URL.
    """

    url: str
    text: str
    kind: str
    state: str


class KeptLinks:
    """Answers questions about links from the current build."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        # Separate locks, so that questions about a URL do not wait for graphs.
        self._opening, self._counting = Lock(), Lock()
        self._version = ""
        self._links: ArchiveLinks | None = None
        self._graphs: LRUCache[tuple[str, GraphKey], HostGraph] = LRUCache(_GRAPHS)
        self._central: LRUCache[tuple[str, GraphKey], Centrality] = LRUCache(_RANKED)

    def links(self) -> ArchiveLinks:
        """Return the current build; raises NotBuiltError if links were never inverted."""
        return self._current()[1]

    def _current(self) -> tuple[str, ArchiveLinks]:
        version = self._engine.inlink_index().version()
        with self._opening:
            if self._links is None or version != self._version:
                self._links, self._version = ArchiveLinks(self._engine), version
            return version, self._links

    def graph(self, key: GraphKey) -> HostGraph:
        """Return a graph, made if not cached; other callers wait meanwhile."""
        version, links = self._current()
        with self._counting:
            return self._graph(version, links, key)

    def _graph(self, version: str, links: ArchiveLinks, key: GraphKey) -> HostGraph:
        found = self._graphs.get((version, key))
        if found is None:
            if key.domains:
                hosts = self._graph(version, links, GraphKey(False, key.cell))
                found = domain_graph(hosts, domain_of_host)
            else:
                found = links.host_graph(key.cell)
            self._graphs[version, key] = found
        return found

    def central(self, key: GraphKey) -> tuple[HostGraph, Centrality]:
        """Return a graph with the centralities of its hosts."""
        version, links = self._current()
        with self._counting:
            graph = self._graph(version, links, key)
            found = self._central.get((version, key))
            if found is None:
                found = self._central[version, key] = centrality(graph)
            return graph, found

    def around(self, host: str, key: GraphKey, top: int) -> LinkGraph:
        """Return the hosts or domains around one, or the most linked ones for ""."""
        centre = domain_of_host(host) if key.domains and host else host
        around = neighbourhood(self.graph(key), centre, top)
        return LinkGraph(around, self._documents(around, domains=key.domains))

    def _documents(self, around: Neighbourhood, *, domains: bool) -> dict[str, int]:
        """Return the number of documents of each shown host or domain."""
        names = [one.host for one in around.hosts if one.host]
        if not names:
            return {}
        field = "domain" if domains else "host"
        wanted = names if domains else [*names, *(f"{_WWW}{name}" for name in names)]
        question = Question(
            query=Bool(should=tuple(Term(field, name) for name in wanted)),
            facets=(field,),
            facet_size=len(wanted),
            limit=0,
            snippets=False,
            collapse=Collapse.NONE,
        )
        found: dict[str, int] = {}
        for one in self._engine.search(question).facets.get(field, ()):
            name = one.value if domains else one.value.removeprefix(_WWW)
            if name in names:
                found[name] = found.get(name, 0) + one.count
        return found

    def of_key(
        self, key: str, cell: LinkCell, offset: int, limit: int, *, by_year: bool = True
    ) -> UrlInlinks:
        """Return the links to a urlkey with their counts, listing `limit` links from `offset`."""
        links = self.links()
        found = tuple(islice(links.inlinks(key, cell), offset, offset + limit + 1))
        years = {
            f"{one:04}": counted.documents
            for one in (links.years() if by_year else ())
            if (counted := links.counts(key, LinkCell(one))) and counted.documents
        }
        counts = links.counts(key, cell) or LinkCounts()
        status = self._engine.statuses([key]).get(key)
        return UrlInlinks(counts, years, found[:limit], len(found) > limit, status)


def outlink_states(engine: Engine, links: Sequence[Link]) -> list[OutlinkState]:
    """Return links with the states of their targets."""
    keys = {link: key for key, link in link_keys(links)}
    statuses = engine.statuses(list(dict.fromkeys(keys.values())))
    return [
        OutlinkState(link.url, link.text, present_kind(link.kind), _state(statuses, keys.get(link)))
        for link in links
    ]


def _state(statuses: Mapping[str, int], key: str | None) -> str:
    if key is None:
        return ""
    if key not in statuses:
        return "never"
    return "captured" if statuses[key] < LOWEST_ERROR else "error"
