"""The CDX server: parameters in, streamed answer out, as lines or OpenWayback's XML; no HTTP."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from urllib.parse import unquote_plus
from xml.sax.saxutils import escape

from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import CdxRow
from nwx.cdxserver.aliases import AliasedSource
from nwx.cdxserver.filters import normal_or_same, spelled
from nwx.cdxserver.output import pieces, plain_lines
from nwx.cdxserver.query_model import CdxQuery, Dialect, MatchType, OutputForm, Paging, Parameters
from nwx.cdxserver.query_parser import parse_cdx_query, span_of, urlkey_of
from nwx.cdxserver.selection import RowsSeen, SelectedRows, narrowed
from nwx.cdxserver.sources import RowSource, Sources
from nwx.engine.capture_index import CdxSpan, exactly
from nwx.engine.indices.change_log import Aliases, AliasIndex
from nwx.engine.indices.digest_index import DigestIndex
from nwx.errors import CdxQueryError
from nwx.values.digests import DigestForm
from nwx.values.timestamps import seconds_between


def blocks_of(query: CdxQuery, source: RowSource) -> list[str]:
    """Return the starts of the blocks of a query, as `urlkey timestamp`."""
    return list(source.marks(narrowed(query)))


def page_count(blocks: Sequence[str], paging: Paging) -> int:
    """Return the number of pages."""
    return -(-len(blocks) // paging.size)


def of_page(
    query: CdxQuery, paging: Paging, blocks: Sequence[str], dialect: Dialect
) -> CdxQuery | None:
    """Return the query for one page, None for a page after the last if that is not an error.

    Raises CdxQueryError for such a page in the dialect of pywb, as pywb does.
    """
    pages = page_count(blocks, paging)
    if paging.page >= pages:
        if dialect.pages_as_object and paging.page:
            raise CdxQueryError(
                f"page {paging.page} invalid: first page is 0, last page is {max(pages - 1, 0)}"
            )
        return None
    first, beyond = paging.page * paging.size, (paging.page + 1) * paging.size
    span = narrowed(query)
    start = blocks[first] if first else span.start
    end = blocks[beyond] if beyond < len(blocks) else span.end
    # Without the urlkey, from which the whole span of the URL would be restored.
    page = CdxSpan(start, end, collection=span.collection)
    return replace(query, span=page, urlkey="", paging=None)


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: its media type, and its bytes, which are generated while they are read.

    The pieces of a short answer may be a list, complete already.
    """

    media_type: str
    pieces: Iterable[bytes]
    urlkey: str = ""


class CdxServer:
    """Answers queries from one or more sources, with captures of aliases at their targets.

    `digests` are additional digests of payloads, by which filters find captures too.
    """

    def __init__(
        self,
        sources: Sequence[RowSource],
        aliases: AliasIndex | None = None,
        digests: DigestIndex | None = None,
    ) -> None:
        self.sources, self.aliases, self.digests = tuple(sources), aliases, digests
        self._stored: RowSource = Sources(sources)
        self.source = self._stored if aliases is None else AliasedSource(self._stored, aliases)

    def answer(
        self,
        parameters: Parameters,
        dialect: Dialect,
        *,
        collection: str = "",
        digest: DigestForm | None = None,
        seen: RowsSeen | None = None,
    ) -> Answer:
        """Return the answer to a query, on one collection or on all.

        With `digest`, the spelling that a crawler compares, rows have the digest that it computes,
        if known: a SHA-256 for `HEX`, else a SHA-1.
        Raises CdxQueryError on an invalid query; sources may raise SourceError or EngineError, also
        while the pieces are read. `seen` is called with the captures of an answer withOriginals.
        """
        query = self._widened(parse_cdx_query(parameters, dialect, digest, collection))
        aliases = self.aliases and self.aliases.of_collection(query.span.collection)
        query, source = (
            (_resolved(query, aliases), self.source) if aliases else (query, self._stored)
        )
        media_type = dialect.media_types[query.output]
        if query.paging is not None:
            blocks = blocks_of(query, source)
            if query.paging.count:
                return _count(blocks, query.paging, dialect)
            page = of_page(query, query.paging, blocks, dialect)
            if page is None and query.paging.page:
                # Not even "[]": clients of the Internet Archive stop only at an empty answer.
                return Answer(media_type, iter(()))
            query = page if page is not None else replace(query, limit=0, paging=None)
        lines = plain_lines(query, source, dialect)
        if lines is not None:
            return Answer(media_type, lines, query.urlkey)
        selection = SelectedRows(query, source, seen, self._with_wanted_digest(digest))
        return Answer(media_type, pieces(selection, query, dialect), query.urlkey)

    def query(
        self,
        parameters: Parameters,
        dialect: Dialect,
        *,
        collection: str = "",
        digest: DigestForm | None = None,
    ) -> CdxQuery:
        """Parse parameters to a query, on one collection or on all."""
        query = parse_cdx_query(parameters, dialect, digest, collection)
        aliases = self.aliases and self.aliases.of_collection(query.span.collection)
        return _resolved(query, aliases) if aliases else query

    def _with_wanted_digest(self, digest: DigestForm | None) -> Callable[[CdxRow], CdxRow] | None:
        """Return a function that sets a row's digest to the kind a crawler compares, if known."""
        if digest is None or self.digests is None:
            return None
        further = self.digests.further
        kind = "sha256:" if digest is DigestForm.HEX else "sha1:"

        def changed(row: CdxRow) -> CdxRow:
            if row.digest.startswith(kind):
                return row
            found = further(normal_or_same(row.digest))
            return row._replace(
                digest=next((one for one in found if one.startswith(kind)), row.digest)
            )

        return changed

    def _widened(self, query: CdxQuery) -> CdxQuery:
        """Return a query whose digest filters match all digests of the payload."""
        if self.digests is None or not any(one.digest for one in query.filters):
            return query
        same = self.digests.same
        filters = tuple(
            one.for_digests(same(one.digest)) if one.digest else one for one in query.filters
        )
        return replace(query, filters=filters)

    def rows(self, query: CdxQuery) -> SelectedRows:
        """Return the captures of a query."""
        return SelectedRows(self._widened(query), self.source)

    def lines(self, query: CdxQuery, dialect: Dialect) -> Iterator[bytes]:
        """Return the captures of a query as pieces of text, each of whole lines."""
        lines = plain_lines(query, self.source, dialect)
        return pieces(self.rows(query), query, dialect) if lines is None else iter(lines)

    def close(self) -> None:
        """Close the sources."""
        self.source.close()

    def collections(self) -> Sequence[str]:
        """Return the names of all collections."""
        return self.source.collections()


def _resolved(query: CdxQuery, aliases: Aliases) -> CdxQuery:
    """Return the query for the target if its URL is an alias, otherwise unchanged."""
    if query.urlkey not in aliases:
        return query
    target = aliases.resolved(query.urlkey)
    return query.for_span(replace(exactly(target), collection=query.span.collection), target)


def _count(blocks: Sequence[str], paging: Paging, dialect: Dialect) -> Answer:
    pages = page_count(blocks, paging)
    if not dialect.pages_as_object:
        return Answer(dialect.media_types[OutputForm.TEXT], iter([b"%d\n" % pages]))
    counted = {"pages": pages, "pageSize": paging.size, "blocks": len(blocks)}
    text = f"{json.dumps(counted)}\n"
    return Answer(dialect.media_types[OutputForm.JSON], iter([text.encode()]))


MEDIA_TYPE = "application/xml"
MOST_RESULTS = 10_000
_URLS, _PREFIXES = "urlquery", "prefixquery"
_FIRST_DATE, _LAST_DATE = "19960101000000", "99991231235959"
_UNFIT = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_START = '<?xml version="1.0" encoding="UTF-8"?>\n<wayback>'
_NOTHING_FOUND = (
    "<error><title>Resource Not In Archive</title>"
    "<message>The Resource you requested is not in this archive.</message></error>"
)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The fields of a `q` parameter; `date` is 14 digits or "", `limit` counts captures or URLs."""

    kind: str
    url: str
    urlkey: str
    span: CdxSpan
    date: str
    offset: int
    limit: int


def answer_xml(parameters: Parameters, source: RowSource, collection: str = "") -> Iterator[bytes]:
    """Return the XML answer in pieces. Raises CdxQueryError on an invalid query."""
    asked = _asked(parameters, collection)
    rows = source.rows(asked.span)
    results = _captures(rows, asked) if asked.kind == _URLS else _urls(rows)
    return _document(results, asked)


def _asked(parameters: Parameters, collection: str) -> _Asked:
    said = {}
    for entry in parameters.text("q").split():
        name, colon, value = entry.partition(":")
        if not colon:
            raise CdxQueryError(f"q has {entry[:40]!r}; write q=type:urlquery url:ADDRESS")
        said[name] = unquote_plus(value, errors="replace")
    kind = said.get("type", _URLS).lower()
    if kind not in (_URLS, _PREFIXES):
        raise CdxQueryError(f"the type of q is {kind[:40]!r}; choose {_URLS} or {_PREFIXES}")
    if not said.get("url"):
        raise CdxQueryError("q has no url; write q=type:urlquery url:ADDRESS")
    numbers = Parameters([*said.items(), *_given(parameters)])
    limit = numbers.number("count", None, 1, MOST_RESULTS)
    limit = limit or numbers.number("limit", MOST_RESULTS, 1, MOST_RESULTS) or MOST_RESULTS
    page = numbers.number("start_page", None, 1, MOST_RESULTS)
    offset = limit * (page - 1) if page else numbers.number("offset", 0, 0, 10**9) or 0
    key = urlkey_of(said["url"])
    match = MatchType.EXACT if kind == _URLS else MatchType.PREFIX
    first, last = numbers.date("startdate") or "", numbers.date("enddate") or ""
    span = span_of(said["url"], match, key)
    if match is MatchType.EXACT and (first or last):
        span = CdxSpan(f"{key} {first}", f"{key} {last}:" if last else span.end)
    span = CdxSpan(span.start, span.end, collection=collection)
    return _Asked(kind, said["url"], key, span, numbers.moment("date"), offset, limit)


def _given(parameters: Parameters) -> list[tuple[str, str]]:
    return [(name, parameters.text(name)) for name in ("count", "start_page")]


def _document(results: Iterator[str], asked: _Asked) -> Iterator[bytes]:
    skipped = sum(1 for _ in islice(results, asked.offset))
    returned = 0
    for result in islice(results, asked.limit):
        yield f"{'' if returned else f'{_START}<results>'}<result>{result}</result>".encode()
        returned += 1
    if not returned:
        yield f"{_START}{_NOTHING_FOUND}</wayback>\n".encode()
        return
    # The rest is counted, up to the most results that can be shown.
    more = sum(1 for _ in islice(results, max(MOST_RESULTS - skipped - returned, 0)))
    request = _elements(
        startdate=_FIRST_DATE,
        enddate=_LAST_DATE,
        type=asked.kind,
        firstreturned=str(asked.offset),
        url=asked.urlkey,
        resultsrequested=str(asked.limit),
        resultstype="resultstypecapture" if asked.kind == _URLS else "resultstypeurl",
        numreturned=str(returned),
        numresults=str(skipped + returned + more),
    )
    yield f"</results><request>{request}</request></wayback>\n".encode()


def _captures(rows: Iterator[CdxRow], asked: _Asked) -> Iterator[str]:
    """Yield the captures of a URL as XML, with the one closest to the date, if any, marked."""
    before: CdxRow | None = None
    looking = bool(asked.date)
    for row in rows:
        if before is not None:
            closest = looking and seconds_between(before.timestamp, asked.date) <= seconds_between(
                row.timestamp, asked.date
            )
            looking = looking and not closest
            yield _capture(before, closest=closest)
        before = row
    if before is not None:
        yield _capture(before, closest=looking)


def _capture(row: CdxRow, *, closest: bool) -> str:
    return _elements(
        compressedoffset=row.offset,
        compressedendoffset="" if row.length == NO_VALUE else row.length,
        mimetype=row.mime,
        file=row.filename,
        redirecturl=row.redirect,
        urlkey=row.urlkey,
        digest=spelled(row.digest, DigestForm.BARE),
        httpresponsecode=row.status,
        robotflags=row.robotflags,
        url=row.url,
        capturedate=row.timestamp,
        closest="true" if closest else "",
    )


def _urls(rows: Iterator[CdxRow]) -> Iterator[str]:
    """Yield the URLs as XML, each with its numbers of captures and versions."""
    for urlkey, group in groupby(rows, key=lambda row: row.urlkey):
        first = last = next(group)
        captures = versions = 1
        for row in group:  # noqa: B031  # the rest of it
            captures += 1
            versions += row.digest != last.digest
            last = row
        yield _elements(
            urlkey=urlkey,
            originalurl=last.url,
            numversions=str(versions),
            numcaptures=str(captures),
            firstcapturets=first.timestamp,
            lastcapturets=last.timestamp,
        )


def _elements(**values: str) -> str:
    return "".join(
        f"<{name}>{escape(_UNFIT.sub('�', value))}</{name}>"
        for name, value in values.items()
        if value
    )
