"""The documents and dates hidden from a viewer, found by the captures covered by rules."""

import threading
import zlib
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

import msgspec

from nwx.access.date_decisions import (
    DateDecisions,
    captures_in,
    changed_spans,
    hidden_spans,
    hides_unnamed,
    in_spans,
)
from nwx.engine.access.decisions import AccessRules, Decisions
from nwx.engine.access.rules import EVERYBODY
from nwx.engine.base import Engine
from nwx.errors import EngineError, StaleMarkError
from nwx.keys import capture_id, document_id, document_key
from nwx.model import Capture, IndexName
from nwx.query.question import NONE_HIDDEN, HiddenDocuments, HiddenSpan, Question

_AT_ONCE = 1_000
_UNCOUNTED = -(1 << 62)
_COLLECTIONS = 10_000
_STATE = "hidden-documents"
_SEAL_BYTES = 4

_FilePart = tuple[str, str, bool]
"""Collection and name of a file; True for its hidden captures, False for visible ones."""

_Subject = tuple[str, str, str, str, str, str, int]
"""Urlkey, URL, digest, collection, file, timestamp and offset of a capture."""


class _TakenOver(NamedTuple):
    """The result for other decisions, up to a mark, and the spans where they differ."""

    mark: str
    hidden: HiddenDocuments
    decisions: Decisions
    places: list[tuple[str, str | None]]


class _State(NamedTuple):
    """The state stored in the archive, up to a mark; `decisions` is the key of the decisions."""

    decisions: str
    mark: str
    hidden: HiddenDocuments
    counts: tuple[int, int]
    files: list[tuple[_FilePart, int]]


class HiddenDocumentSet:
    """The hidden documents of an archive, updated as its captures change.

    Thread-safe. With `keeps_state` it is also stored in the archive, so that the next process need
    not read all captures again. `before` is the set of other decisions: if these differ in few
    URLs, only the captures of these are read.
    """

    def __init__(
        self,
        engine: Engine,
        decisions: Decisions,
        *,
        keeps_state: bool = False,
        before: "HiddenDocumentSet | None" = None,
    ) -> None:
        # A set without a result cannot be started from, but perhaps the one before it.
        self._before: HiddenDocumentSet | None = before
        if before is not None and before._mark is None:
            self._before = before._before
        self._engine = engine
        self._decisions = decisions
        self._dates = DateDecisions(engine, decisions)
        # Dates without a capture (`add-dates`) may be hidden too.
        self._digests = {rule.scope.digest for rule in decisions.restricting} - {""}
        by_url = [rule for rule in decisions.restricting if rule.scope.prefix]
        self._by_url = AccessRules(by_url).for_viewer(EVERYBODY)
        self._keeps_state = keeps_state
        self._guard = threading.Lock()
        self._mark: str | None = None
        self._hidden = NONE_HIDDEN
        self._looked_at = self._hidden_captures = 0
        self._files: Counter[_FilePart] = Counter()

    def captures(self) -> int:
        """Return the number of hidden captures."""
        if self._decisions.hides_nothing:
            return 0
        self.current()
        with self._guard:
            self._count_deleted()
            return self._hidden_captures

    def _count_deleted(self) -> None:
        """Count captures again if they were not counted, or some were deleted since."""
        if self._engine.count(IndexName.CAPTURES) != self._looked_at:
            deque(self._candidates(self._all_captures(), ()), maxlen=0)
            if self._mark is not None:
                self._kept(self._mark, self._hidden)

    def file_captures(self, collection: str, name: str) -> tuple[int, int]:
        """Return how many captures of a file are visible, and how many are hidden."""
        if self._decisions.hides_nothing:
            return 0, 0
        self.current()
        with self._guard:
            self._count_deleted()
            visible = self._files[collection, name, False]
            return visible, self._files[collection, name, True]

    def current(self) -> HiddenDocuments:
        """Return the hidden documents, updated if captures changed."""
        if self._decisions.hides_nothing:
            return NONE_HIDDEN
        mark = self._engine.capture_mark()
        with self._guard:
            if self._mark != mark:
                self._hidden = self._updated(mark)
                self._mark = mark
            return self._hidden

    def _updated(self, mark: str) -> HiddenDocuments:
        known, since = self._hidden, self._mark
        if since is None and (stored := self._stored()):
            since, known = stored
            if since == mark:
                return known
        spans = hidden_spans(self._decisions, self._collections())
        before, self._before = self._before, None
        if since is None and before is not None:
            taken = before.taken_over(self._decisions, spans)
            with suppress(StaleMarkError):
                if taken is not None:
                    return self._kept(mark, self._changed(mark, taken))
        if since is not None and spans == known.spans:
            with suppress(StaleMarkError):
                ids = self._candidates(self._new_captures(since, mark), spans)
                return self._kept(mark, self._decided_again(mark, known, spans, ids))
        ids = self._candidates(self._all_captures(), spans)
        return self._kept(mark, self._decided_again(mark, NONE_HIDDEN, spans, ids))

    def _collections(self) -> set[str]:
        """Return the collections of captures, and of dates if these matter."""
        names = set(self._engine.collections())
        if hides_unnamed(self._decisions):
            every = Question(
                limit=0, snippets=False, facets=("collection",), facet_size=_COLLECTIONS
            )
            counted = self._engine.search(every).facets.get("collection", ())
            names.update(str(one.value) for one in counted)
        return names

    def taken_over(self, decisions: Decisions, spans: tuple[HiddenSpan, ...]) -> _TakenOver | None:
        """Return the state that other decisions can start from, None if they cannot use it."""
        with self._guard:
            if self._mark is None or spans != self._hidden.spans:
                return None
            places = changed_spans(self._decisions, decisions)
            if places is None:
                return None
            return _TakenOver(self._mark, self._hidden, self._decisions, places)

    def _changed(self, mark: str, taken: _TakenOver) -> HiddenDocuments:
        """Return the hidden documents, starting from a set whose rules differ in few URLs."""
        captures = captures_in(self._engine, taken.places)
        # Counts need the renders of pages too, and all files: they are made on demand.
        self._looked_at = _UNCOUNTED
        ids = (id for one in captures if one.digest for id in _ids_of(_subject(one)))
        known = replace(taken.hidden, key="")
        known = self._decided_again(taken.mark, known, known.spans, ids)
        later = self._candidates(self._new_captures(taken.mark, mark), known.spans)
        return self._decided_again(mark, known, known.spans, later)

    def _all_captures(self) -> Iterator[_Subject]:
        self._looked_at = self._hidden_captures = 0
        self._files.clear()
        for some in self._engine.facet_store().capture_rows():
            for row in some.rows:
                timestamp, url, digest = row[0], row[1], row[2]
                urlkey, collection, source_file, offset = row[10], row[11], row[12], row[13]
                yield urlkey, url, digest, collection, source_file, timestamp, offset

    def _new_captures(self, since: str, until: str) -> Iterator[_Subject]:
        for one, _ in self._engine.captures_since(since, until):
            yield _subject(one)

    def _candidates(
        self, captures: Iterable[_Subject], spans: tuple[HiddenSpan, ...]
    ) -> Iterator[str]:
        """Yield the document ids of captures that spans alone do not decide."""
        hides = self._decisions.hides_values
        for urlkey, url, digest, collection, source_file, timestamp, offset in captures:
            hidden = hides(urlkey, url, digest or "", collection, source_file, timestamp)
            self._looked_at += 1
            self._hidden_captures += hidden
            self._files[collection, source_file, hidden] += 1
            is_told = hidden == in_spans(spans, timestamp, collection)
            may_date = digest in self._digests or self._by_url.touches(urlkey)
            if digest and (not is_told or may_date):
                yield from _ids_of(
                    (urlkey, url, digest, collection, source_file, timestamp, offset)
                )

    def _decided_again(
        self,
        mark: str,
        known: HiddenDocuments,
        spans: tuple[HiddenSpan, ...],
        ids: Iterator[str],
    ) -> HiddenDocuments:
        """Return the hidden documents, with those in `ids` decided again."""
        documents, dates, apart = set(known.documents), dict(known.dates), set(known.apart)
        changed = not known.key
        while some := set(islice(ids, _AT_ONCE)):
            for id, found in self._engine.dates(list(some)).items():
                changed = True
                hidden = self._dates.hidden(id, found)
                documents.discard(id)
                dates.pop(id, None)
                if len(hidden) == len(set(found.seen)):
                    documents.add(id)
                elif hidden:
                    dates[id] = hidden
                elif spans:
                    apart.add(id)
        if not changed:
            return known
        key = f"{self._decisions.key} {mark}"
        return HiddenDocuments(key, frozenset(documents), dates, spans, frozenset(apart))

    def _stored(self) -> tuple[str, HiddenDocuments] | None:
        """Return mark and result stored by another process for the same rules, if any."""
        state = self._engine.access_index().state(_STATE) if self._keeps_state else None
        known = _unsealed(state) if state else None
        if known is None or known.decisions != self._decisions.key:
            return None
        self._looked_at, self._hidden_captures = known.counts
        self._files = Counter(dict(known.files))
        return known.mark, known.hidden

    def _kept(self, mark: str, hidden: HiddenDocuments) -> HiddenDocuments:
        if self._keeps_state:
            counts = self._looked_at, self._hidden_captures
            state = _State(self._decisions.key, mark, hidden, counts, list(self._files.items()))
            try:
                self._engine.access_index().put_state(_STATE, _sealed(state), derived=True)
            except EngineError:
                self._keeps_state = False  # the disk is read-only, or another process is writing
        return hidden


def _sealed(state: _State) -> bytes:
    """Return a state with its checksum: damage would show what rules hide."""
    encoded = msgspec.json.encode(state)
    return zlib.crc32(encoded).to_bytes(_SEAL_BYTES) + encoded


def _unsealed(stored: bytes) -> _State | None:
    """Return a stored state, None if it is damaged or of another format."""
    seal, encoded = stored[:_SEAL_BYTES], stored[_SEAL_BYTES:]
    if zlib.crc32(encoded).to_bytes(_SEAL_BYTES) != seal:
        return None
    with suppress(msgspec.DecodeError):  # of another format
        return msgspec.json.decode(encoded, type=_State)
    return None


def _subject(one: Capture) -> _Subject:
    return (
        one.urlkey,
        one.url,
        one.digest,
        one.collection,
        one.source_file,
        one.timestamp,
        one.source_file_offset,
    )


def _ids_of(subject: _Subject) -> Iterator[str]:
    """Yield the document ids of a capture: that of its key, and of a document of its own."""
    _, url, digest, collection, source_file, _, offset = subject
    key = document_key(url, digest)
    yield document_id(key)
    yield document_id(f"{key} {capture_id(collection, source_file, offset)}")
