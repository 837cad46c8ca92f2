"""The Python API of an archive: one method for each query and each maintenance task.

Each method imports its own dependencies, so that a program loads only the areas it uses.
"""

from collections.abc import Iterator, Mapping, Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING, Self

from nwx.answers.tables import Rows
from nwx.archive_crawls import ArchiveCrawls
from nwx.archive_indices import ArchiveIndices
from nwx.archive_pages import ArchivePages
from nwx.archive_renders import ArchiveRenders
from nwx.archive_rules import ArchiveRules
from nwx.engine.access.rules import EVERYBODY, Role, Viewer
from nwx.errors import UsageError
from nwx.model import Collapse, LinkCell, Sort
from nwx.settings import VARIABLES, Settings, load_settings
from nwx.values.arguments import (
    OptionValues,
    check_arguments,
    check_limit,
    check_method_arguments,
    chosen,
    conditions_of,
    filters_of,
    first_of,
    several,
    texts,
)
from nwx.values.timestamps import DateOption, date_bound, date_bounds, date_text

if TYPE_CHECKING:  # a program loads the areas that it uses
    from nwx.answers.archived_capture import ArchivedCapture
    from nwx.answers.capture_table import Captures
    from nwx.answers.count_tables import FacetTable, Inlinks, TrendTable
    from nwx.answers.hits import Hits
    from nwx.answers.sql_table import SqlTable
    from nwx.links.archive_links import PageOutlink
    from nwx.links.missing_urls import MissingUrl
    from nwx.model import IndexStats
    from nwx.pictures.answers import PictureAnswer
    from nwx.searching.differences import Difference
    from nwx.searching.documents import CaptureDate, ShownDocument, UrlVersion
    from nwx.searching.quotations import Quotation
    from nwx.searching.sql import SqlLimits
    from nwx.searching.trends import DistinctiveWords

_NEWEST = "99991231235959"
_NEAR = 50


@check_arguments
def open(
    place: str | PathLike[str] = "",
    *,
    viewer: Viewer | str = EVERYBODY,
    service: str = "",
    **settings: str,
) -> "Archive":
    """Return the archive in a folder or at the address of a search server.

    `place` defaults to the value of NWX_ENGINE, or the folder `archive`. `viewer` decides which
    access rules apply: "reader", "curator", "administrator" or a `Viewer`. `service` is the address
    of a running `nwx serve`, for replay URLs. `settings` are named like the environment variables,
    in lower case and without NWX_: prefix, api_key … The archive is opened by the first query.
    """
    unknown = sorted(set(settings) - set(VARIABLES))
    if unknown:
        raise UsageError(f"there is no setting {unknown[0]!r}; use {', '.join(VARIABLES)}")
    return Archive(
        load_settings({"engine": fspath(place), **settings}), named_viewer(viewer), service
    )


def named_viewer(viewer: Viewer | str) -> Viewer:
    """Return a viewer as given, or one with the role of that name."""
    if isinstance(viewer, Viewer):
        return check_arguments(Viewer)(viewer.address, viewer.user, chosen(Role, viewer.role))
    return Viewer(role=chosen(Role, viewer))


@check_method_arguments
class Archive(ArchiveCrawls, ArchiveIndices, ArchivePages, ArchiveRenders, ArchiveRules):
    """An archive as a viewer sees it; answers always reflect its current state.

    A context manager; not thread-safe. Every method raises EngineUnavailableError if the search
    server is unavailable, and UsageError on invalid options.
    """

    def __init__(self, settings: Settings, viewer: Viewer = EVERYBODY, service: str = "") -> None:
        super().__init__(settings, viewer)
        self.service = service

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[type["Archive"], tuple[Settings, Viewer, str]]:
        return Archive, (self.settings, self.viewer, self.service)  # for other processes

    def __repr__(self) -> str:
        return f"nwx.open({self.settings.engine!r})"

    def search(
        self,
        query: str = "",
        *,
        from_: DateOption = "",
        to: DateOption = "",
        by: str = "words",
        sort: str = "relevance",
        ranking: str = "default",
        collapse: str = "url",
        facets: Sequence[str] = (),
        snippets: bool = True,
        limit: int = 10,
        offset: int = 0,
        **filters: OptionValues,
    ) -> "Hits":
        """Return the hits of a query: words, "phrases", AND OR NOT, field:value, wild*cards.

        `filters` are collection, domain, host, type, status, language, year, puid, generator,
        license and published. `collapse` is url, similar or none; `sort` is relevance (pages before
        files and errors), all-types, newest, oldest or inlinks. `by` is words or, after
        `build("vectors")`, meaning (the 100 nearest hits) or both. `ranking` is a name of
        `rankings()`. `page()` uses `limit` and `offset` by default.
        """
        from nwx.query.question import Question
        from nwx.query.rankings import SearchBy

        question = Question(
            query,
            filters_of(filters),
            date_text(from_),
            date_text(to),
            sort=chosen(Sort, sort),
            collapse=chosen(Collapse, collapse),
            facets=tuple(facets),
            snippets=snippets,
            offset=offset,
            limit=limit,
            ranking=self.ranking(ranking),
            by=chosen(SearchBy, by),
        )
        return self.hits(question)

    def captures(
        self,
        pattern: str = "",
        *,
        from_: DateOption = "",
        to: DateOption = "",
        collapse: str | Sequence[str] = (),
        filter: str | Sequence[str] = (),
        collection: str = "",
        limit: int | None = None,
        columns: str | Sequence[str] = (),
    ) -> "Captures":
        """Return captures by URL: `http://example.org/`, `example.org/*`, `*.example.org`.

        Without a pattern, returns all captures. `collapse` keeps one of consecutive captures with
        equal values of a field (`urlkey`, `digest`, `timestamp:4`). `filter` has the syntax of
        pywb's CDX server: `mime:pdf`, `=status:200`, `!~url:.*login`; the field is required.
        """
        from nwx.answers.capture_table import TABLE_COLUMNS, Captures

        check_limit(limit)
        asked = [("url", pattern)] if pattern else []
        asked += zip(("from", "to"), date_bounds(from_, to), strict=True)
        asked += [("collection", collection), *([] if limit is None else [("limit", str(limit))])]
        asked += [("collapse", one) for one in several(collapse)]
        asked += [("filter", one) for one in several(filter)]
        return Captures(self._seen, asked, several(columns) or TABLE_COLUMNS)

    def capture(self, url: str, at: DateOption = "") -> "ArchivedCapture | None":
        """Return the capture of a URL nearest to a date, or the newest one without a date.

        Among captures of the same visit, the exact spelling of the URL (`www`, https) is preferred.
        Captures of POST and PUT requests count only if there are no others. Returns None without
        captures; raises HiddenError if captures exist but may not be shown.
        """
        from nwx.access.restricted_engine import check_url_shown
        from nwx.answers.archived_capture import ArchivedCapture, of_same_visit, replay_address
        from nwx.engine.capture_index import KeysAtTime
        from nwx.searching.documents import captures_by_any_method, nearest
        from nwx.values.urlkeys import urlkey, with_scheme

        moment = date_bound(at, 0) if at else _NEWEST
        engine = self._seen()
        (near,) = engine.captures_near([KeysAtTime((urlkey(with_scheme(url)),), moment)], _NEAR)
        near = near or nearest(captures_by_any_method(engine, url), moment, _NEAR)
        if not near:
            check_url_shown(engine, url)
            return None
        found = of_same_visit(near, url)
        service = self.service or self.settings.public_url
        replay = replay_address(service, found.timestamp, found.url)
        return ArchivedCapture(found, replay, engine, self._places())

    def document(self, key: str) -> "ShownDocument | None":
        """Return a document by its id, its key `<url> <digest>`, or the URL of its only version."""
        found = self.document_or_versions(key)
        if isinstance(found, list):
            raise UsageError(f"{key} has {len(found):,} versions; name one by its id")
        return found

    def versions(self, url: str) -> "Rows[UrlVersion]":
        """Return the versions of a URL, ordered by first date."""
        from nwx.searching.documents import UrlVersion, versions

        return Rows(UrlVersion, lambda: versions(self._seen(), url), bars="first")

    def dates(self, url: str) -> "Rows[CaptureDate]":
        """Return all dates of a URL, including dates without a record in the archive."""
        from nwx.searching.documents import CaptureDate, capture_dates

        return Rows(CaptureDate, lambda: capture_dates(self._seen(), url), bars="timestamp")

    def diff(self, url: str, old: DateOption, new: DateOption) -> "Difference":
        """Return the differences in the text of a URL between its versions nearest to two dates."""
        from nwx.searching.differences import difference
        from nwx.searching.documents import version_at

        before, after = (version_at(self._seen(), url, date_bound(at, 0)) for at in (old, new))
        return difference(before.extract.content, after.extract.content)

    def quote(
        self,
        text: str,
        *,
        url: str = "",
        site: str = "",
        from_: DateOption = "",
        to: DateOption = "",
    ) -> "Quotation":
        """Return the captures of a URL, a site or the archive that contain a text word for word."""
        from nwx.searching.quotations import QuoteScope, find_quotation

        return find_quotation(
            self._seen(), text, QuoteScope(url, site, date_text(from_), date_text(to))
        )

    def facets(
        self,
        by: str | Sequence[str] = (),
        where: Mapping[str, OptionValues] | Sequence[str] = (),
        *,
        features: str | Sequence[str] = (),
        sort: str = "",
        order: str = "",
        limit: int | None = None,
        approximate: bool = False,
    ) -> "FacetTable":
        """Count captures, documents, URLs and bytes by one or two criteria.

        `where` maps criteria to values, {"tld": "org", "month": "2013-01..2013-12"}, or lists
        conditions in the syntax of `nwx facets`, ["type!=html"].
        """
        from nwx.answers.count_tables import FacetTable
        from nwx.facets.question import parse_facet_question, parse_features

        check_limit(limit)
        wanted = parse_features(",".join(several(features)))
        question = parse_facet_question(
            conditions_of(where), ",".join(several(by)), sort, wanted, order, limit
        )
        answer = self.facet_answer(question, approximate=approximate)
        return FacetTable(answer, wanted)

    def trends(
        self,
        queries: str | Sequence[str],
        *,
        by: str = "year",
        from_: DateOption = "",
        to: DateOption = "",
        **filters: OptionValues,
    ) -> "TrendTable":
        """Count the captures and documents of up to six queries over time, by year or month."""
        from nwx.answers.count_tables import TrendTable
        from nwx.query.question import Question
        from nwx.searching.trends import trends
        from nwx.values.timestamps import Period

        question = Question(
            filters=filters_of(filters), date_from=date_text(from_), date_to=date_text(to)
        )
        return TrendTable(trends(self._seen(), several(queries), question, chosen(Period, by)))

    def words(
        self,
        query: str = "",
        *,
        limit: int = 30,
        from_: DateOption = "",
        to: DateOption = "",
        **filters: OptionValues,
    ) -> "DistinctiveWords":
        """Return the words unusually frequent in the results of a query."""
        from nwx.query.question import Question
        from nwx.searching.trends import distinctive_words

        check_limit(limit)
        question = Question(query, filters_of(filters), date_text(from_), date_text(to))
        return distinctive_words(self._seen(), question, limit)

    def links(
        self, to: str, *, year: int | None = None, collection: str = "", limit: int | None = None
    ) -> "Inlinks":
        """Return the links to a URL or host; needs `build("links")`."""
        from nwx.answers.count_tables import Inlinks

        return Inlinks(self._seen(), to, LinkCell(year, collection), limit)

    def outlinks(
        self, of: str, *, year: int | None = None, collection: str = "", limit: int | None = None
    ) -> "Rows[PageOutlink]":
        """Return the outlinks of the newest capture of a URL, or of every URL of a host."""
        from nwx.links.archive_links import PageOutlink, asked_place, outlinks_of

        place, cell = asked_place(of), LinkCell(year, collection)
        return Rows(PageOutlink, lambda: first_of(outlinks_of(self._seen(), place, cell), limit))

    def missing(
        self,
        *,
        kind: str | Sequence[str] = (),
        site: str = "",
        host: str = "",
        collection: str = "",
        from_: DateOption = "",
        to: DateOption = "",
        limit: int | None = None,
    ) -> "Rows[MissingUrl]":
        """Return the URLs that captured pages need and the archive lacks, most needed first."""
        from nwx.links.missing_urls import MissingUrl, asked_missing, asked_pages, missing_urls

        asked = asked_missing(several(kind), asked_pages(site, collection, from_, to), host)

        def found() -> Iterator[MissingUrl]:
            return first_of(missing_urls(self._seen(), self._links().links(), asked), limit)

        return Rows(MissingUrl, found)

    def pictures(
        self,
        query: str = "",
        *,
        size: str = "",
        colour: OptionValues = (),
        host: OptionValues = (),
        domain: OptionValues = (),
        collection: OptionValues = (),
        year: OptionValues = (),
        box: str = "",
        limit: int | None = None,
        offset: int = 0,
    ) -> "Rows[PictureAnswer]":
        """Return pictures by the words of the pages that show them; needs `build("pictures")`."""
        from nwx.engine.indices.picture_index import PICTURE_WINDOW, ImageSize, PictureQuestion
        from nwx.pictures.answers import PictureAnswer, listed_picture, parse_box

        check_limit(limit)
        asked = PictureQuestion(
            query,
            chosen(ImageSize, size) if size else None,
            texts(colour),
            texts(host),
            texts(domain),
            texts(collection),
            texts(year),
            parse_box(box),
            limit=max(PICTURE_WINDOW - offset, 0) if limit is None else int(limit),
            offset=offset,
        )

        def found() -> Iterator[PictureAnswer]:
            pictures = self._seen().picture_index().search(asked).pictures
            return (listed_picture(one.picture, one.appearance) for one in pictures)

        return Rows(PictureAnswer, found)

    def sql(self, query: str, limits: "SqlLimits | None" = None) -> "SqlTable":
        """Return the result of an SQL query over captures, documents, links, hosts and pictures.

        The tables contain only what the viewer may see. Raises QueryError on an invalid query, or
        one that exceeds the limits.
        """
        from nwx.answers.sql_table import SqlTable
        from nwx.searching.sql import SqlAnswer, SqlLimits

        return SqlTable(lambda: SqlAnswer(self._seen(), query, limits or SqlLimits()))

    def stats(self) -> Mapping[str, "IndexStats"]:
        """Return the number of entries and the bytes of each index, by its name."""
        return {name.value: one for name, one in self._seen().stats().items()}
