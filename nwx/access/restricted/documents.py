"""The documents that a viewer may see, and their dates."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace

from nwx.access.date_decisions import DateDecisions
from nwx.access.hidden_documents import HiddenDocumentSet
from nwx.access.restricted.captures import reading_only
from nwx.access.restricted.hidden_urls import HiddenUrls
from nwx.engine.access.decisions import Decision, Decisions
from nwx.engine.base import Engine
from nwx.engine.dates_index import DatesBuilder
from nwx.keys import holds
from nwx.model import (
    MAIN_DATES,
    Capture,
    Dates,
    Document,
    Hit,
    NamedDates,
    SearchResult,
)
from nwx.query.dates import Period, TrendPoint
from nwx.query.question import Question


class RestrictedDocuments:
    """What a viewer may see of the documents of an engine, and of their dates."""

    _engine: Engine
    _decisions: Decisions
    _dates: DateDecisions
    _hidden: HiddenDocumentSet
    urls: HiddenUrls

    def known(self, ids: Collection[str]) -> dict[str, int]:
        """Return the precedence of those of the documents that are visible."""
        found = self._engine.known(ids)
        visible = self._visible_ids(list(found))
        return {id: rank for id, rank in found.items() if id in visible}

    def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        """Return those of the documents that are visible, with a capture that is visible."""
        found = self._engine.documents(ids)
        visible = self._visible_ids(list(found))
        shown = {id: self._shown(id, one) for id, one in found.items() if id in visible}
        urls = {link.url for one in shown.values() for link in one.extract.links}
        out = self.urls.among(urls | {one.capture.redirect_to for one in shown.values()})
        return {id: _without_links(one, out) for id, one in shown.items()} if out else shown

    def _visible_ids(self, ids: Sequence[str]) -> set[str]:
        """Return those of documents that have a visible date."""
        known = self._engine.dates(ids)
        return {id for id in ids if id not in known}.union(self._dates.of(known))

    def _shown(self, id: str, document: Document) -> Document:
        """Return a document with the first of its visible captures: its text is the same."""
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
        return replace(document, capture=(stored or captures)[0])

    def decision(self, id: str) -> Decision | None:
        """Return what holds for a document that the archive has, None where it has none."""
        known = self._engine.dates([id]).get(id)
        return None if known is None else self._dates.decision(id, known)

    def search(self, question: Question) -> SearchResult:
        """Answer a question from what is visible."""
        return self._engine.search(replace(question, hidden=self._hidden.current()))

    def totals(self, questions: Sequence[Question]) -> list[int]:
        """Return how many visible documents each question finds, versions counted apart."""
        hidden = self._hidden.current()
        return self._engine.totals([replace(question, hidden=hidden) for question in questions])

    def scroll(self, question: Question) -> Iterator[Hit]:
        """Stream every visible hit of a question, in no order, without snippets."""
        return self._engine.scroll(replace(question, hidden=self._hidden.current()))

    def trends(self, questions: Sequence[Question], period: Period) -> list[list[TrendPoint]]:
        """Return when the visible documents of questions were captured, by visible dates."""
        hidden = self._hidden.current()
        return self._engine.trends([replace(one, hidden=hidden) for one in questions], period)

    def similar_words(self, word: str, most: int) -> list[str]:
        """Return words that are spelled like a word, those of hidden documents among them."""
        return self._engine.similar_words(word, most)

    def dates(self, ids: Sequence[str]) -> dict[str, Dates]:
        """Return the visible dates of these document ids, in all indices."""
        return self._dates.of(self._engine.dates(ids))

    def dates_indices(self) -> list[NamedDates]:
        """Return the dates indices, without counts: these are of all that there is."""
        return [
            replace(one, entries=None, dates=None, bytes=None)
            for one in self._engine.dates_indices()
        ]

    def scan_dates(self, place: str) -> Iterator[Dates]:
        """Stream the visible dates of one index, in the order of their ids."""
        for dates in self._engine.scan_dates(place):
            yield from self._dates.of({"": dates}).values()

    def append_dates(self, dates: Sequence[Dates], into: str = MAIN_DATES) -> int:
        """Raise EngineError: who sees a part of an archive does not write to it."""
        raise reading_only()

    def attach_dates(self, name: str, address: str = "") -> None:
        """Raise EngineError: who sees a part of an archive does not write to it."""
        raise reading_only()

    def detach_dates(self, name: str) -> None:
        """Raise EngineError: who sees a part of an archive does not write to it."""
        raise reading_only()

    def drop_dates(self, name: str) -> None:
        """Raise EngineError: who sees a part of an archive does not write to it."""
        raise reading_only()

    def build_dates(self, place: str) -> AbstractContextManager[DatesBuilder]:
        """Raise EngineError: who sees a part of an archive does not write to it."""
        raise reading_only()


def _without_links(document: Document, out: set[str]) -> Document:
    """Return a document without its links to some URLs; its text stays as it is."""
    links = tuple(link for link in document.extract.links if link.url not in out)
    if document.capture.redirect_to in out:
        document = replace(document, capture=document.capture._replace(redirect_to=""))
    if len(links) == len(document.extract.links):
        return document
    return replace(document, extract=replace(document.extract, links=links))
