"""The XML that OpenWayback asks for: `q=type:urlquery url:ADDRESS`, as OutbackCDX answers it."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice
from urllib.parse import unquote_plus
from xml.sax.saxutils import escape

from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import CdxRow
from nwx.cdxserver.filters import spelled
from nwx.cdxserver.parameters import Parameters
from nwx.cdxserver.query_model import MatchType
from nwx.cdxserver.query_parser import span_of, urlkey_of
from nwx.cdxserver.sources import RowSource
from nwx.engine.capture_index import CdxSpan
from nwx.errors import CdxQueryError
from nwx.values.digests import DigestForm
from nwx.values.timestamps import seconds_between

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
    """The fields of a `q` parameter; `date` is 14 digits or "", counts are captures or URLs."""

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
        raise CdxQueryError(f"the type of q is {kind[:40]!r}; {_URLS} and {_PREFIXES} are known")
    if not said.get("url"):
        raise CdxQueryError("q names no url; write q=type:urlquery url:ADDRESS")
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
    # Others are counted as far as a reader could be shown them.
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
    """Stream the captures of a URL as XML, the one closest to the date (if any) marked."""
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
    """Stream the URLs of captures with how often, and in how many versions, each was captured."""
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
