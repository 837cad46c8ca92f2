"""Queries of the Python API that web pages and programs make with typed objects of the areas."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nwx.answers.tables import Rows
from nwx.archive_work import ArchiveWork
from nwx.bulk.progress import ShowProgress
from nwx.errors import NotBuiltError, SettingsError, UrlError, UsageError
from nwx.model import IndexName, LinkCell
from nwx.values.arguments import check_limit, chosen, first_of, several
from nwx.values.timestamps import DateOption
from nwx.values.urlkeys import urlkey

if TYPE_CHECKING:  # a program loads the areas that it uses
    from nwx.answers.count_tables import HostTable
    from nwx.answers.hits import Hits
    from nwx.answers.tables import PlaybackScores
    from nwx.engine.indices.quality_index import PlaybackScore
    from nwx.exports import PackReport, WaczSelection
    from nwx.facets.answers import FacetAnswers
    from nwx.facets.question import FacetAnswer, FacetCondition, FacetQuestion
    from nwx.links.archive_links import KeptLinks, LinkGraph, OutlinkState, UrlInlinks
    from nwx.links.missing_urls import PageResources
    from nwx.model import Capture, Dates, Document
    from nwx.pictures.answers import (
        PictureQuestion,
        PictureResult,
        ShownPicture,
        SimilarPicture,
    )
    from nwx.pictures.map import PictureMap
    from nwx.quality.missing_originals import MissingOriginal
    from nwx.quality.repair_list import RepairList
    from nwx.quality.stored_blocks import StoredBlock
    from nwx.quality.stored_renders import PagePictures, StoredRender
    from nwx.query.question import Question
    from nwx.searching.suggestions import Suggestions
    from nwx.steering.triples.entity_questions import EntityQuestions
    from nwx.steering.triples.triple_store import (
        QueryAnswer,
        QueryLimits,
        SparqlQuery,
        TripleStore,
    )


class ArchivePages(ArchiveWork):
    """Queries behind one web page: parts of lists with their totals, neighbours and states."""

    def hits(self, question: "Question") -> "Hits":
        """Return the hits of a question; their `page()` is the page the question asks for."""
        from nwx.answers.hits import Hits

        return Hits(self._seen, question, self.settings.embedder)

    def search_state(self) -> str:
        """Return a text that changes whenever results of a query may change, "" if unknown."""
        return self._seen().search_state()

    def suggestions(self, typed: str) -> "Suggestions":
        """Return title and host completions of a partly typed text."""
        from nwx.searching.suggestions import suggestions

        return suggestions(self._seen(), typed)

    def count(self, index: str) -> int:
        """Return the number of entries of an index."""
        return self._seen().count(chosen(IndexName, index))

    def capture_times(self, url: str, most: int) -> list[str]:
        """Return the timestamps of the first captures of a URL, sorted."""
        from nwx.engine.capture_index import exactly

        rows = self._seen().cdx_rows(exactly(urlkey(url)))
        return [row.timestamp for row in first_of(rows, most)]

    def captures_of_key(self, key: str) -> "Iterator[Capture]":
        """Stream the captures of a urlkey, ordered by date."""
        return self._seen().captures(key)

    def captures_at(self, key: str, timestamp: str) -> "Sequence[Capture]":
        """Return the captures of a urlkey at a timestamp of 14 digits."""
        from nwx.searching.documents import captures_at

        return captures_at(self._seen(), key, timestamp)

    def stored_document(self, id: str) -> "Document | None":
        """Return a document without its dates and captures; raises HiddenError if it is hidden."""
        from nwx.access.restricted_engine import check_document_shown

        engine = self._seen()
        found = engine.documents([id]).get(id)
        if found is None:
            check_document_shown(engine, id)
        return found

    def documents_of(self, ids: Sequence[str]) -> "Mapping[str, Document]":
        """Return the visible documents by id; other ids are left out."""
        return self._seen().documents(ids)

    def document_near(self, url: str, timestamp: str = "") -> str | None:
        """Return the id of the document of a URL captured nearest to a date, None without any."""
        from nwx.searching.documents import document_near

        return document_near(self._seen(), url, timestamp)

    def document_dates(self, ids: Sequence[str]) -> "Mapping[str, Dates]":
        """Return all dates of documents by id."""
        return self._seen().dates(ids)

    def known_documents(self, ids: Sequence[str]) -> Collection[str]:
        """Return the ids that belong to a document."""
        return self._seen().known(ids)

    def pack(
        self, selection: "WaczSelection", path: Path, form: str, progress: ShowProgress
    ) -> "PackReport":
        """Write the records of a selection to a warc.gz file, or a wacz with a list of pages."""
        from nwx.exports import PackOptions, pack, pack_warc

        if form == "wacz":
            options = PackOptions(title=selection.query)
            return pack(self._seen(), selection, path, options, progress)
        return pack_warc(self._seen(), selection, path, progress)

    def _links(self) -> "KeptLinks":
        from nwx.links.archive_links import KeptLinks

        return self._kept(KeptLinks)

    def inlinks(
        self,
        key: str,
        *,
        year: int = 0,
        collection: str = "",
        offset: int = 0,
        limit: int = 50,
        by_year: bool = True,
    ) -> "UrlInlinks":
        """Return counts of the links to a urlkey, also by year, and one page of the links."""
        cell = LinkCell(year or None, collection)
        return self._links().of_key(key, cell, offset, limit, by_year=by_year)

    def link_years(self) -> list[int]:
        """Return the years in which pages with links were captured."""
        return self._links().links().years()

    def links_are_current(self) -> bool:
        """Return whether the archive is unchanged since links were inverted."""
        return self._links().links().is_current()

    def link_graph(
        self, host: str = "", *, domains: bool = False, year: int = 0, top: int = 40
    ) -> "LinkGraph":
        """Return the hosts (or domains) linked with a host, or the most linked ones without it."""
        from nwx.links.archive_links import GraphKey

        return self._links().around(host, GraphKey(domains, LinkCell(year or None)), top)

    def site_ranks(self, *, by_pagerank: bool) -> Mapping[str, float]:
        """Return the PageRank, or harmonic centrality, of each domain in the graph of links."""
        from nwx.links.archive_links import GraphKey

        graph, central = self._links().central(GraphKey(domains=True))
        values = central.pagerank if by_pagerank else central.harmonic
        return dict(zip(graph.hosts, values.tolist(), strict=True))

    def outlink_states(self, document: "Document", limit: int) -> "Sequence[OutlinkState]":
        """Return the first links of a document with the states of the linked URLs."""
        from nwx.links.archive_links import outlink_states

        return outlink_states(self._seen(), document.extract.links[:limit])

    def _facet_answers(self) -> "FacetAnswers":
        from nwx.facets.answers import FacetAnswers

        return self._kept(FacetAnswers)

    def facet_answer(self, asked: "FacetQuestion", *, approximate: bool = False) -> "FacetAnswer":
        """Return the answer to a facet question."""
        return self._facet_answers().answer(asked, approximate=approximate)

    def selected_captures(
        self, where: "tuple[FacetCondition, ...]", offset: int = 0, limit: int = 50
    ) -> "tuple[int, list[Capture]]":
        """Return the number of captures that meet all conditions, and a page of them by month."""
        return self._facet_answers().captures(where, offset=offset, limit=limit)

    def quality(
        self,
        *,
        site: str = "",
        host: str = "",
        month: str = "",
        kind: str = "",
        collection: str = "",
        order: str = "worst",
        limit: int | None = None,
    ) -> "PlaybackScores":
        """Return the playback scores of captured pages, as stored by `nwx check-playback`.

        `order` is worst (lowest score first) or newest (last checked first).
        """
        from nwx.answers.tables import PlaybackScores
        from nwx.engine.indices.quality_index import QualityOrder, review_index
        from nwx.quality.scores import asked_scores
        from nwx.values.render_names import FaultKind

        if kind:
            chosen(FaultKind, kind)
        asked = asked_scores(site, host, month, kind, collection)
        engine, by = self._seen(), chosen(QualityOrder, order)
        return PlaybackScores(engine.quality_index(), review_index(engine), asked, by, limit)

    def has_scores(self) -> bool:
        """Return whether any pages have playback scores; the answer is up to 20 seconds old."""
        from nwx.quality.scores import ScorePresence

        return bool(self._kept(ScorePresence))

    def score(self, id: str) -> "PlaybackScore | None":
        """Return the playback score of a capture by its id, None if it was not checked."""
        return self._seen().quality_index().score(id)

    def document_score(self, document: "Document", id: str) -> "PlaybackScore | None":
        """Return the playback score of a document's latest checked capture, None without any."""
        from nwx.quality.scores import document_score

        return document_score(self._seen(), document, id) if self.has_scores() else None

    def check_shown(self, url: str) -> None:
        """Raise HiddenError if captures of a URL exist but may not be shown."""
        from nwx.access.restricted_engine import check_url_shown

        check_url_shown(self._seen(), url)

    def page_pictures(self) -> "PagePictures":
        """Return the renders of pages, and the pictures that represent documents."""
        from nwx.quality.stored_renders import PagePictures

        return self._kept(PagePictures)

    def render(self, capture: "Capture") -> "StoredRender":
        """Return the render stored as a capture; raises SourceError or FormatError."""
        from nwx.quality.stored_renders import read_render

        return read_render(self._places(), capture)

    def image(self, capture: "Capture") -> bytes:
        """Return the payload of a captured image; raises SourceError or FormatError."""
        from nwx.quality.stored_blocks import read_image

        return read_image(self._places(), capture)

    def record(self, capture: "Capture", most_bytes: int) -> "StoredBlock":
        """Return the stored record of a capture; raises SourceError or FormatError."""
        from nwx.quality.stored_blocks import block_of_capture

        return block_of_capture(self._places(), capture, most_bytes)

    def search_pictures(self, asked: "PictureQuestion") -> "PictureResult":
        """Return the pictures that match a question, and their total."""
        return self._seen().picture_index().search(asked)

    def similar_pictures(self, hash: int, limit: int = 50) -> "Sequence[SimilarPicture]":
        """Return the pictures with a perceptual hash (64 bits) similar to this one."""
        check_limit(limit)
        if not 0 <= hash < 1 << 64:
            raise UsageError(f"hash is {hash}; it must be a whole number of 64 bits, 0 or more")
        return self._seen().picture_index().similar(hash, limit)

    def picture(self, id: str, pages: int = 1_000) -> "ShownPicture | None":
        """Return a picture and up to `pages` pages that show it, None for an unknown id."""
        from nwx.pictures.answers import ShownPicture

        index = self._seen().picture_index()
        found = index.pictures_of([id]).get(id)
        return ShownPicture(found, index.appearances_of(id, pages)) if found else None

    def hosts(
        self, name: str = "", *, sort: str = "captures", reverse: bool = False
    ) -> "HostTable":
        """Return the hosts whose names contain a text; `sort` is a value of HostOrder."""
        from nwx.answers.count_tables import HostOrder, KeptHosts

        order = chosen(HostOrder, sort)
        return self._kept(KeptHosts).table().chosen(name, order, reverse=reverse)

    def picture_map(self) -> "PictureMap":
        """Return the map of where pictures were taken, for at most PICTURE_WINDOW pictures."""
        from nwx.pictures.answers import PICTURE_WINDOW, PictureQuestion
        from nwx.pictures.map import WORLD, picture_map

        found = (
            self._seen().picture_index().search(PictureQuestion(box=WORLD, limit=PICTURE_WINDOW))
        )
        return picture_map((one.picture for one in found.pictures), found.total.value)

    def missing_originals(self) -> "Rows[MissingOriginal]":
        """Return missing originals that revisits refer to, those with most revisits first."""
        from nwx.quality.missing_originals import MissingOriginal, missing_originals

        return Rows(MissingOriginal, lambda: missing_originals(self._seen()))

    def repairs(
        self,
        *,
        kind: str | Sequence[str] = (),
        site: str = "",
        host: str = "",
        collection: str = "",
        from_: DateOption = "",
        to: DateOption = "",
    ) -> "RepairList":
        """Return the missing resources that repair most pages; raises UsageError on wrong kinds."""
        from nwx.links.missing_urls import asked_pages
        from nwx.quality.missing_resources import asked_repairs
        from nwx.quality.repair_list import RepairList

        asked = asked_repairs(several(kind), asked_pages(site, collection, from_, to), host)
        return RepairList(self._seen(), asked)

    def stamp(self, *collections: str) -> str:
        """Return a text that changes with the captures, links and checks of collections."""
        from nwx.quality.scores import checks_stamp

        engine = self._seen()
        checks = [checks_stamp(engine, name) for name in collections or ("",)]
        versions = engine.inlink_index().version(), engine.facet_store().stamp()
        return repr((engine.hidden_key, versions, checks))

    def url_statuses(self, urls: Iterable[str]) -> Mapping[str, int]:
        """Return the lowest status of the captures of each URL; URLs without one are left out."""
        keys = {}
        for url in urls:
            with suppress(UrlError):
                keys[url] = urlkey(url)
        found = self._seen().statuses(list(keys.values()))
        return {url: found[key] for url, key in keys.items() if key in found}

    def collections(self) -> list[str]:
        """Return the names of the collections."""
        return self._seen().collections()

    def resources(self, document: "Document") -> "PageResources":
        """Return the resources that a page needs, and which of them are missing."""
        from nwx.links.missing_urls import page_resources

        return page_resources(self._seen(), document)

    def triples(self) -> "TripleStore | None":
        """Return the visible triples extracted from pages, None if there are none."""
        from nwx.steering.triples.archive_triples import visible_triples

        try:
            found = visible_triples(self.settings, self._seen())
        except SettingsError:
            return None
        return found if found.version() else None

    def sparql(self, query: "SparqlQuery") -> "QueryAnswer":
        """Return the answer to a SPARQL query; raises NotBuiltError without triples."""
        store = self.triples()
        if store is None:
            raise NotBuiltError("this archive has no triples yet; run `nwx triples build`")
        return store.answer(query, self._query_limits())

    def entities(self) -> "EntityQuestions | None":
        """Return the interface for queries about entities, None without triples."""
        from nwx.steering.triples.entity_questions import EntityQuestions, KnownAnswers

        store, known = self.triples(), self._kept(KnownAnswers)
        return EntityQuestions(store, self._query_limits(), known) if store else None

    def _query_limits(self) -> "QueryLimits":
        from nwx.steering.triples.triple_store import QueryLimits

        return QueryLimits(seconds=self.settings.search_seconds)
