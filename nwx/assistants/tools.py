"""The tools of assistants: read-only queries of an archive."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from nwx.answers.archived_capture import replay_address
from nwx.archive import Archive
from nwx.assistants import questions as ask
from nwx.assistants.questions import Found
from nwx.errors import UsageError
from nwx.model import Hit
from nwx.searching.differences import difference
from nwx.searching.quotations import Quotation
from nwx.values.digests import normal_digest
from nwx.values.timestamps import date_bound, seconds_between

_HITS_AT_ONCE = 8
_PASSAGE = 400
_PIECE = 800
_TITLE = 200
_LONGEST_ADDRESS = 1_000
_MOST_PERIODS = 5
_END = re.compile(r"\s\S*\Z")
_NEWEST = "99991231235959"

Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: the class of its parameters, whose docstring describes it, and its function."""

    asked: type[ask.ToolParameters]
    answer: Callable[[Archive, Any], Found]


def _search(archive: Archive, asked: ask.SearchAsked) -> Found:
    names = ("host", "domain", "collection", "language", "type")
    filters = {name: value for name in names if (value := getattr(asked, name))}
    hits = archive.search(asked.query, from_=asked.from_, to=asked.to, sort=asked.sort, **filters)
    page = hits.page(asked.start, _HITS_AT_ONCE)
    low, high = date_bound(asked.from_, 0), date_bound(asked.to, 1) or _NEWEST

    def items() -> Iterator[Item]:
        found, offset = page.hits, asked.start
        while found:
            for hit in found:
                yield _hit(archive, hit, low, high)
            offset += len(found)
            some = len(found) == _HITS_AT_ONCE and offset + _HITS_AT_ONCE <= ask.MOST_LISTED
            found = hits.page(offset, _HITS_AT_ONCE).hits if some else ()

    head = {"total": page.total.value, "exact": page.total.relation == "eq"}
    return Found(head, items(), is_from_cursor=True)


def _hit(archive: Archive, hit: Hit, low: str, high: str) -> Item:
    document = archive.stored_document(hit.id)
    text = document.extract.content if document else ""
    start, end = _place(text, "".join(piece for piece, _ in hit.snippet))
    dates = [date for date in hit.dates if low <= date <= high] or list(hit.dates) or [""]
    return {
        "title": hit.title[:_TITLE],
        **_source(archive, hit.url, dates[-1], hit.digest),
        "span": [start, end],
        "text": text[start:end],
        "id": hit.id,
        "first": dates[0],
        "captures": len(dates),
    }


def _document(archive: Archive, asked: ask.DocumentAsked) -> Found:
    if bool(asked.id) == bool(asked.url):
        raise UsageError("name a url or an id")
    id = asked.id or archive.document_near(asked.url, date_bound(asked.date, 0) or _NEWEST)
    shown = archive.document(id) if id else None
    if shown is None or id is None:
        raise UsageError("there is no such document in this archive")
    extract, capture = shown.document.extract, shown.document.capture
    date = _nearest([each for each, _ in shown.dates.seen] or [capture.timestamp], asked.date)
    head = {
        "title": extract.title[:_TITLE],
        **_source(archive, capture.url, date, capture.digest),
        "id": id,
        "characters": len(extract.content),
    }
    pieces = _pieces(extract.content)
    passages = ({"span": [start, end], "text": text} for start, end, text in pieces)
    return Found(head, passages, "passages")


def _versions(archive: Archive, asked: ask.UrlAsked) -> Found:
    found = archive.versions(asked.url)
    items = (
        {
            "title": one.title[:_TITLE],
            **_source(archive, one.url, one.last, one.digest),
            "id": one.id,
            "first": one.first,
            "captures": one.captures,
        }
        for one in found
    )
    return Found({"total": len(found)}, items, "versions")


def _captures(archive: Archive, asked: ask.CapturesAsked) -> Found:
    found = archive.captures(asked.url, from_=asked.from_, to=asked.to, collection=asked.collection)
    items = (
        {
            **_source(archive, one.url, one.timestamp, _digest(one.digest)),
            "status": one.status,
            "type": one.mime,
            "collection": one.collection,
        }
        for one in found
    )
    return Found({}, items, "captures")


def _quote(archive: Archive, asked: ask.QuoteAsked) -> Found:
    found = archive.quote(
        asked.text, url=asked.url, site=asked.site, from_=asked.from_, to=asked.to
    )
    periods = [asdict(one) for one in found.periods[:_MOST_PERIODS]]
    return _quoted(archive, found, {"periods": periods, "all_periods": len(found.periods)})


def _verify_quote(archive: Archive, asked: ask.VerifyAsked) -> Found:
    found = archive.quote(asked.text, url=asked.url, from_=asked.date, to=asked.date)
    return _quoted(archive, found, {})


def _quoted(archive: Archive, found: Quotation, more: Item) -> Found:
    head = {
        "verified": found.verified,
        "first": found.first,
        "last": found.last,
        "total": found.captures,
        "complete": found.complete,
        **more,
    }
    if not found.complete:
        head["note"] = "not all documents that may have these words were read; give a url"

    def items() -> Iterator[Item]:
        for one in found.versions:
            yield {
                **_source(archive, one.url, one.timestamps[-1], one.digest),
                "id": one.id,
                "part": one.part,
                "span": [one.start, one.end],
                "from": one.timestamps[0],
                "until": one.timestamps[-1],
                "captures": len(one.timestamps),
            }

    return Found(head, items(), "captures")


def _diff(archive: Archive, asked: ask.DiffAsked) -> Found:
    old, old_text = _side(archive, asked.url, asked.old)
    new, new_text = _side(archive, asked.url, asked.new)
    found = difference(old_text, new_text)
    places = {"removed": 0, "added": 0}

    def items() -> Iterator[Item]:
        for row in found.rows:
            text = "".join(piece for piece, _ in row.pieces)
            if row.kind not in places:
                continue
            whole = old_text if row.kind == "removed" else new_text
            start = max(whole.find(text, places[row.kind]), 0)
            places[row.kind] = start + len(text)
            yield {"kind": row.kind, "span": [start, start + len(text)], "text": text}

    head = {"old": old, "new": new, "removed": found.removed, "added": found.added}
    return Found({**head, "cut": found.cut}, items(), "changes")


def _side(archive: Archive, url: str, date: str) -> tuple[Item, str]:
    id = archive.document_near(url, date_bound(date, 0) or _NEWEST)
    document = archive.stored_document(id) if id else None
    if id is None or document is None:
        raise UsageError("there is no document of this URL in this archive")
    seen = archive.document_dates([id])
    dates = [each for each, _ in seen[id].seen] if id in seen else [document.capture.timestamp]
    own = document.capture
    head = {**_source(archive, own.url, _nearest(dates, date), own.digest), "id": id}
    return head, document.extract.content


def _facets(archive: Archive, asked: ask.FacetsAsked) -> Found:
    table = archive.facets(asked.by, asked.where, limit=ask.MOST_LISTED)
    items = ({"values": row.values, **asdict(row.features)} for row in table)
    return Found({"by": table.answer.question.by, "total": asdict(table.total)}, items, "rows")


def _trends(archive: Archive, asked: ask.TrendsAsked) -> Found:
    table = archive.trends(asked.queries, by=asked.by, from_=asked.from_, to=asked.to)
    rows = (
        {"query": trend.query, "period": one.period, "captures": one.captures,
         "documents": one.documents, "captures_share": one.captures_share}
        for trend, one in table
    )  # fmt: skip
    return Found({}, rows, "rows")


def _links(archive: Archive, asked: ask.LinksAsked) -> Found:
    head: dict[str, Any] = {}
    if asked.direction == "in":
        links = archive.links(asked.of)
        head = {name: getattr(links.counts, name) for name in ("documents", "hosts", "domains")}
        head["is_current"] = links.is_current
        rows = ((one.url, one.timestamp, one.kind, one.text, one.target) for one in links)
    else:
        found = archive.outlinks(asked.of)
        rows = ((one.page, one.timestamp, one.kind, one.text, one.url) for one in found)
    items = (
        {"text": text, **_source(archive, url, date), "kind": kind, "target": target}
        for url, date, kind, text, target in rows
    )
    return Found(head, items, "links")


def _missing(archive: Archive, asked: ask.MissingAsked) -> Found:
    found = archive.missing(
        site=asked.site, host=asked.host, from_=asked.from_, to=asked.to, limit=ask.MOST_LISTED
    )
    return Found({}, map(asdict, found), "urls")


def _source(archive: Archive, url: str, date: str, digest: str | None = None) -> dict[str, Any]:
    """Return the citation fields of a capture, with its replay address."""
    own: dict[str, Any] = {"url": url, "date": date}
    if digest is not None:
        own["digest"] = digest
    replay = replay_address(archive.service or archive.settings.public_url, date, url)
    if date and len(replay) <= _LONGEST_ADDRESS:
        own["replay"] = replay
    return own


def _place(text: str, snippet: str) -> tuple[int, int]:
    """Return the span of a snippet in its document's text, or else of the text's beginning."""
    longest = max(snippet.split("…"), key=len).split()
    if longest and (found := re.search(r"\s+".join(map(re.escape, longest)), text)):
        return found.start(), min(found.end(), found.start() + _PASSAGE)
    return 0, _end(text, 0, _PASSAGE)


def _pieces(text: str) -> Iterator[tuple[int, int, str]]:
    start = 0
    while start < len(text):
        end = _end(text, start, _PIECE)
        yield start, end, text[start:end]
        start = end


def _end(text: str, start: int, most: int) -> int:
    """Return the end of a passage: between words, unless they are too long."""
    if start + most >= len(text):
        return len(text)
    blank = _END.search(text, start + most // 2, start + most)
    return blank.start() if blank else start + most


def _nearest(dates: Sequence[str], date: str) -> str:
    wanted = date_bound(date, 0)
    return min(dates, key=lambda one: seconds_between(one, wanted)) if wanted else max(dates)


def _digest(text: str) -> str:
    return normal_digest(text) if text != "-" else ""


TOOLS: Mapping[str, Tool] = {
    "search": Tool(ask.SearchAsked, _search),
    "document": Tool(ask.DocumentAsked, _document),
    "versions": Tool(ask.UrlAsked, _versions),
    "captures": Tool(ask.CapturesAsked, _captures),
    "quote": Tool(ask.QuoteAsked, _quote),
    "verify_quote": Tool(ask.VerifyAsked, _verify_quote),
    "diff": Tool(ask.DiffAsked, _diff),
    "facets": Tool(ask.FacetsAsked, _facets),
    "trends": Tool(ask.TrendsAsked, _trends),
    "links": Tool(ask.LinksAsked, _links),
    "missing": Tool(ask.MissingAsked, _missing),
}
"""The tools by name."""
