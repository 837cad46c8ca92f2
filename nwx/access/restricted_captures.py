"""The captures, documents and dates that a viewer may see."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from nwx.access.date_decisions import (
    DateDecisions,
    blocks_naming_visible,
    rows_naming_visible,
    span_is_touched,
    visible_blocks,
    visible_rows,
)
from nwx.access.hidden_documents import HiddenDocumentSet
from nwx.access.hidden_urls import DECIDED, NAMING, HiddenUrls
from nwx.bulk.progress import batches
from nwx.captures import CaptureColumns
from nwx.cdx.rows import CdxRow
from nwx.engine.access.decisions import Decision, Decisions
from nwx.engine.base import Engine
from nwx.engine.capture_index import (
    CaptureIndex,
    CdxBlock,
    CdxLineForm,
    CdxSpan,
    KeysAtTime,
    nearest_captures,
)
from nwx.engine.document_index import DatesIndex, DocumentIndex
from nwx.engine.entries import dates_entry, dates_from_entry, document_entry
from nwx.errors import EngineError
from nwx.keys import holds
from nwx.model import (
    Capture,
    Dates,
    Document,
    Hit,
    IndexName,
    NamedDates,
    SearchResult,
)
from nwx.query.fields import CAPTURE_FIELDS
from nwx.query.question import Question
from nwx.values.timestamps import Period, TrendPoint

_BEHIND = chr(0x10FFFF)
_OF_NONE = "%%"
"""A text that no urlkey contains, as `%25` stands for a percent sign."""

_MORE_NEAR, _MOST_NEAR = 8, 8_000


def reading_only() -> EngineError:
    """Return the error for writing to an engine that shows a part of an archive."""
    return EngineError.translated("an archive opened with access rules is read-only")


def writing_refused(self: object, *given: Any, **named: Any) -> Any:
    """Raise EngineError: an engine that shows a part of an archive is read-only."""
    raise reading_only()


class _Forwarded:
    """A method delegated to an attribute of its object."""

    def __init__(self, to: str) -> None:
        self._to = to

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, holder: object, owner: type) -> Any:
        return getattr(getattr(holder, self._to), self._name)


def forwarded(to: str) -> Any:
    """Return a method that calls the same method of an attribute, without restrictions."""
    return _Forwarded(to)


class RestrictedCaptures(CaptureIndex):
    """The captures of an engine that a viewer may see."""

    _engine: Engine
    _decisions: Decisions
    urls: HiddenUrls

    def captures(self, urlkey: str, end: str | None = None) -> Iterator[Capture]:
        if end is None:
            urlkey = self._looked_up(urlkey)
        return self._visible(self._engine.captures(urlkey, end), urlkey, end)

    def capture_columns(self, fields: Sequence[str]) -> Iterator[CaptureColumns]:
        """Yield fields of the visible captures by column, without the hidden URLs they name."""
        found = self._engine.capture_columns(tuple(dict.fromkeys((*fields, *DECIDED))))
        return ({name: piece[name] for name in fields} for piece in self.urls.visible(found))

    def captures_of_digest(self, digest: str, urlkey: str = "") -> Iterator[Capture]:
        return (
            one
            for one in self._engine.captures_of_digest(digest, urlkey)
            if not self._decisions.hides(one)
        )

    def statuses(
        self, urlkeys: Sequence[str], hides: Callable[[Capture], bool] | None = None
    ) -> dict[str, int]:
        if hides is not None:
            hidden = self._decisions.hides
            return self._engine.statuses(urlkeys, lambda one: hidden(one) or hides(one))
        found = self._engine.statuses(urlkeys)
        touched = {key for key in found if self._decisions.touches(key)}
        visible = self._engine.statuses(list(touched), self._decisions.hides)
        return {key: status for key, status in found.items() if key not in touched} | visible

    def captures_near(self, asked: Sequence[KeysAtTime], most: int) -> list[list[Capture]]:
        answers = self._engine.captures_near(asked, most)
        for place, (question, found) in enumerate(zip(asked, answers, strict=True)):
            if any(map(self._decisions.hides, found)):
                answers[place] = self._visible_near(question, most)
        return answers

    def _visible_near(self, question: KeysAtTime, most: int) -> list[Capture]:
        """Return the nearest visible captures, by looking up more and more."""
        wanted = most
        while (wanted := wanted * _MORE_NEAR) <= _MOST_NEAR:
            (near,) = self._engine.captures_near([question], wanted)
            visible = [one for one in near if not self._decisions.hides(one)]
            if len(visible) >= most or len(near) < wanted:
                return visible[:most]
        captures = (one for key in question.urlkeys for one in self.captures(key))
        return nearest_captures(captures, question.timestamp, most)

    def has_keys(self, starts: Sequence[str]) -> bool:
        there = [start for start in starts if self._engine.has_keys([start])]
        return any(
            not self._decisions.touches(start, start + _BEHIND)
            or next(self.captures(start, start + _BEHIND), None) is not None
            for start in there
        )

    def cdx_rows(self, span: CdxSpan) -> Iterator[CdxRow]:
        span = self._looked_up_span(span)
        rows = self._engine.cdx_rows(span)
        visible = visible_rows(rows, self._decisions) if self._touches(span) else rows
        return rows_naming_visible(visible, self.urls.among)

    def cdx_blocks(self, span: CdxSpan, form: CdxLineForm) -> Iterable[CdxBlock] | None:
        """Return the same captures in blocks, of lines if no rule is about the span."""
        span = self._looked_up_span(span)
        if self._touches(span):
            blocks = visible_blocks(self._engine, self._decisions, span, form)
        else:
            blocks = self._engine.cdx_blocks(span, form)
        return blocks and blocks_naming_visible(blocks, form, self.urls.among)

    def cdx_marks(self, span: CdxSpan, every: int) -> Iterator[str]:
        if not self._touches(span):
            yield from self._engine.cdx_marks(span, every)
            return
        for number, row in enumerate(self.cdx_rows(span)):
            if not number % every:
                yield f"{row.urlkey} {row.timestamp}"

    def collections(self) -> list[str]:
        return [name for name in self._engine.collections() if self._shows_some(name)]

    def _shows_some(self, collection: str) -> bool:
        if not any(
            rule.scope.collection in ("", collection) for rule in self._decisions.restricting
        ):
            return True
        captures = self._engine.captures_since("", collection=collection)
        return any(not self._decisions.hides(capture) for capture, _ in captures)

    def url_decisions(self, urlkey: str, timestamp: str = "") -> Iterator[Decision]:
        """Yield the decision for each capture of a urlkey or date, hidden ones included.

        A partial timestamp matches every date with that prefix.
        """
        if self._decisions.touches(urlkey):
            for capture in self._engine.captures(self._looked_up(urlkey)):
                if capture.timestamp.startswith(timestamp):
                    yield self._decisions.decide(capture)

    def _looked_up(self, urlkey: str) -> str:
        """Return the urlkey to look up: for an excluded one, a urlkey without captures.

        So the time does not reveal whether the URL was captured.
        """
        return f"{urlkey}{_OF_NONE}" if self._decisions.excludes(urlkey) else urlkey

    def _looked_up_span(self, span: CdxSpan) -> CdxSpan:
        key, _, last, _ = span.bounds()
        wanted = self._looked_up(key) if last in (key, f"{key}!") else key
        return span if wanted == key else replace(span, start=f"{wanted} ", end=f"{wanted}!")

    def captures_since(
        self, mark: str, until: str = "", collection: str = ""
    ) -> Iterator[tuple[Capture, str]]:
        for capture, behind in self._engine.captures_since(mark, until, collection):
            if not self._decisions.hides(capture):
                yield capture, behind

    def _visible(
        self, captures: Iterator[Capture], urlkey: str, end: str | None
    ) -> Iterator[Capture]:
        if not self._decisions.touches(urlkey, end):
            return captures
        return (one for one in captures if not self._decisions.hides(one))

    def _touches(self, span: CdxSpan) -> bool:
        return span_is_touched(self._decisions, span)

    capture_mark = forwarded("_engine")
    load_captures = unload_captures = writing_refused


class RestrictedDocuments(DocumentIndex, DatesIndex):
    """The documents of an engine, and their dates, that a viewer may see."""

    _engine: Engine
    _decisions: Decisions
    _dates: DateDecisions
    _hidden: HiddenDocumentSet
    urls: HiddenUrls

    def known(self, ids: Collection[str]) -> dict[str, int]:
        found = self._engine.known(ids)
        visible = self._visible_ids(list(found))
        return {id: rank for id, rank in found.items() if id in visible}

    def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the visible documents by id, each with a visible capture."""
        shown = self._visible_documents(ids)
        urls = {link.url for one in shown.values() for link in one.extract.links}
        out = self.urls.among(urls | {one.capture.redirect_to for one in shown.values()})
        return {id: _without_links(one, out) for id, one in shown.items()} if out else shown

    def texts(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return the visible documents by id, without links, which need not be checked then."""
        return {
            id: Document(one.capture._replace(redirect_to=""), replace(one.extract, links=()))
            for id, one in self._visible_documents(ids).items()
        }

    def _visible_documents(self, ids: Sequence[str]) -> dict[str, Document]:
        found = self._engine.documents(ids)
        visible = self._visible_ids(list(found))
        return {id: self._shown(id, one) for id, one in found.items() if id in visible}

    def _visible_ids(self, ids: Sequence[str]) -> set[str]:
        """Return the ids of documents with a visible date."""
        known = self._engine.dates(ids)
        return {id for id in ids if id not in known}.union(self._dates.visible(known))

    def _shown(self, id: str, document: Document) -> Document:
        """Return a document with its first visible capture, which has the same text.

        If its own capture is hidden, fields about that capture are left out.
        """
        if not self._decisions.hides(document.capture):
            return document
        own = document.capture
        captures = [
            one
            for one in self._engine.captures(own.urlkey)
            if holds(one, id) and not self._decisions.hides(one)
        ]
        if not captures:
            return document
        stored: list[Capture] = [one for one in captures if one.record_type != "revisit"]
        found = document.extract.fields
        fields = {name: found[name] for name in found.keys() - CAPTURE_FIELDS}
        return Document((stored or captures)[0], replace(document.extract, fields=fields))

    def decision(self, id: str) -> Decision | None:
        """Return the decision for a document, None if the archive does not have it."""
        known = self._engine.dates([id]).get(id)
        return None if known is None else self._dates.decision(id, known)

    def search(self, question: Question) -> SearchResult:
        return self._engine.search(replace(question, hidden=self._hidden.current()))

    def totals(self, questions: Sequence[Question]) -> list[int]:
        hidden = self._hidden.current()
        return self._engine.totals([replace(question, hidden=hidden) for question in questions])

    def scroll(self, question: Question) -> Iterator[Hit]:
        return self._engine.scroll(replace(question, hidden=self._hidden.current()))

    def trends(self, questions: Sequence[Question], period: Period) -> list[list[TrendPoint]]:
        hidden = self._hidden.current()
        return self._engine.trends([replace(one, hidden=hidden) for one in questions], period)

    def dates(self, ids: Sequence[str]) -> dict[str, Dates]:
        return self._dates.visible(self._engine.dates(ids))

    def dates_indices(self) -> list[NamedDates]:
        """Return the dates indices, without counts: these would include hidden dates."""
        return [
            replace(one, entries=None, dates=None, bytes=None)
            for one in self._engine.dates_indices()
        ]

    def scan_dates(self, place: str) -> Iterator[Dates]:
        for dates in self._engine.scan_dates(place):
            yield from self._dates.visible({"": dates}).values()

    similar_words = forwarded("_engine")  # words of hidden documents too
    append_dates = attach_dates = detach_dates = drop_dates = build_dates = writing_refused


def _without_links(document: Document, out: set[str]) -> Document:
    """Return a document without its links to some URLs; its text is unchanged."""
    links = tuple(link for link in document.extract.links if link.url not in out)
    if document.capture.redirect_to in out:
        document = replace(document, capture=document.capture._replace(redirect_to=""))
    if len(links) == len(document.extract.links):
        return document
    return replace(document, extract=replace(document.extract, links=links))


_AT_ONCE = 500
_Entry = Mapping[str, Any]


def visible_entries(
    restricted: Engine, engine: Engine, decisions: Decisions, index: IndexName
) -> Iterator[_Entry]:
    """Yield the entries of an index of `engine` as shown by `restricted`."""
    entries = engine.scan(index)
    if index is IndexName.CAPTURES:
        return _captures(restricted, (one for one in entries if not _is_hidden(decisions, one)))
    if index is IndexName.DOCUMENTS:
        return _documents(restricted, decisions, entries)
    if index is IndexName.DATES:
        return _dates(DateDecisions(engine, decisions), entries)
    return entries


def _is_hidden(decisions: Decisions, entry: _Entry) -> bool:
    return decisions.hides_values(
        entry.get("urlkey", ""),
        entry.get("url", ""),
        entry.get("digest", ""),
        entry.get("collection", ""),
        entry.get("source_file", ""),
        entry.get("timestamp", ""),
    )


def _captures(restricted: Engine, entries: Iterator[_Entry]) -> Iterator[_Entry]:
    """Yield entries of captures without the hidden URLs that they name."""
    for some in batches(entries, _AT_ONCE):
        out = restricted.hidden_urls({one[name] for one in some for name in NAMING if name in one})
        for entry in some:
            if out:
                naming = {name for name in NAMING if entry.get(name) in out}
                yield {name: value for name, value in entry.items() if name not in naming}
            else:
                yield entry


def _named(entry: _Entry) -> list[str]:
    """Return the URLs that a document links or redirects to."""
    return [*entry.get("links", ()), *filter(None, [entry.get("redirect_to")])]


def _documents(
    restricted: Engine, decisions: Decisions, entries: Iterator[_Entry]
) -> Iterator[_Entry]:
    for some in batches(entries, _AT_ONCE):
        hidden = [one["id"] for one in some if _is_hidden(decisions, one)]
        out = restricted.hidden_urls({url for one in some for url in _named(one)})
        hidden += [one["id"] for one in some if out.intersection(_named(one))]
        # A document whose own capture is hidden is shown with a visible one, if any;
        # one that links to hidden URLs is shown without these links.
        shown = restricted.documents(hidden) if hidden else {}
        for entry in some:
            if entry["id"] in shown:
                yield document_entry(shown[entry["id"]])
            elif entry["id"] not in hidden:
                yield entry


def _dates(decisions: DateDecisions, entries: Iterator[_Entry]) -> Iterator[_Entry]:
    for entry in entries:
        dates = dates_from_entry(entry)
        for found in decisions.visible({entry["id"]: dates}).values():
            yield entry if found is dates else {**dates_entry(found), "id": entry["id"]}
