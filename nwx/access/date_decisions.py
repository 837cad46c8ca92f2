"""Visibility of document dates and of rows of capture indexes for a viewer."""

import threading
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import islice

from nwx.bulk.progress import batches
from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import CdxRow
from nwx.engine.access.decisions import ALLOWED, Decision, Decisions
from nwx.engine.access.matches import TimedRule, reached_keys
from nwx.engine.access.rules import Action, Scope
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan
from nwx.engine.facet_store import FacetStore
from nwx.errors import DigestError, UrlError
from nwx.keys import holds, id_of_capture
from nwx.model import Capture, Dates
from nwx.query.question import HiddenSpan, SeenDate
from nwx.values.digests import normal_digest
from nwx.values.urlkeys import method_prefix, urlkey

_KEYS_KEPT = 4_096


class DateDecisions:
    """Visibility of document dates, decided from the access rules.

    A date with known captures is visible when at least one of them is; otherwise the rules for its
    URL, digest, collection and time decide.
    """

    def __init__(self, engine: Engine, decisions: Decisions) -> None:
        self._engine = engine
        self._decisions = decisions
        self._by_file = any(one.rule.scope.source_file for one in decisions.timed)

    def visible(self, found: Mapping[str, Dates]) -> dict[str, Dates]:
        """Return the visible dates by document id, without documents that have none.

        A document whose key has no dates at all is left out too.
        """
        visible = {}
        for id, dates in found.items():
            hidden = self.hidden(id, dates)
            seen = tuple(one for one in dates.seen if one not in hidden) if hidden else dates.seen
            if seen:
                visible[id] = dates if seen is dates.seen else Dates(dates.key, seen)
        return visible

    def hidden(self, id: str, dates: Dates) -> frozenset[SeenDate]:
        """Return the hidden dates of a document."""
        url, digest = key_parts(dates.key)
        key = _urlkey(url)
        if not self._decisions.touches(key):
            return frozenset()
        states = self._captured(id, key) if self._by_file else {}
        hides = self._decisions.hides_values
        return frozenset(
            (timestamp, collection)
            for timestamp, collection in dates.seen
            if (
                not states[timestamp, collection]
                if (timestamp, collection) in states
                else hides(key, url, digest, collection, "", timestamp)
            )
        )

    def decision(self, id: str, dates: Dates) -> Decision:
        """Return the decision for a document: `allow` if one of its dates is visible.

        Otherwise the first decision other than `exclude` for its captures and dates; `exclude` only
        if it applies to all of them.
        """
        if len(self.hidden(id, dates)) < len(dates.seen):
            return ALLOWED
        said = list(self._decisions_of(id, dates))
        told = [one for one in said if one.action is not Action.EXCLUDE]
        return (told or said or [ALLOWED])[0]

    def _decisions_of(self, id: str, dates: Dates) -> Iterator[Decision]:
        url, digest = key_parts(dates.key)
        key = _urlkey(url)
        captures = [one for one in self._engine.captures(key) if holds(one, id)]
        yield from map(self._decisions.decide, captures)
        known = {(one.timestamp, one.collection) for one in captures}
        for timestamp, collection in dates.seen:
            if (timestamp, collection) not in known:
                yield self._decisions.decide(_subject(key, url, digest, collection, timestamp))

    def _captured(self, id: str, key: str) -> dict[SeenDate, bool]:
        """Return for each date of a document with captures whether one of them is visible."""
        states: dict[SeenDate, bool] = {}
        for capture in self._engine.captures(key):
            if holds(capture, id):
                date = capture.timestamp, capture.collection
                states[date] = states.get(date, False) or not self._decisions.hides(capture)
        return states


def key_parts(key: str) -> tuple[str, str]:
    """Return the URL and the digest of a document key."""
    url, _, rest = key.partition(" ")
    return url, rest.partition(" ")[0]


@lru_cache(_KEYS_KEPT)
def _urlkey(url: str) -> str:
    try:
        return urlkey(url)
    except UrlError:
        return url


def _subject(key: str, url: str, digest: str, collection: str, timestamp: str) -> Capture:
    return Capture(
        collection=collection,
        source_file="",
        source_file_offset=0,
        record_length=None,
        record_type="response",
        url=url,
        urlkey=key,
        host="",
        domain="",
        public_suffix="",
        timestamp=timestamp,
        digest=digest,
        document_id="",
        status_code=None,
        content_type="",
        content_type_norm="",
        content_length=None,
    )


_FIRST, _LAST = "0" * 14, "9" * 14


def is_broad(scope: Scope) -> bool:
    """Return whether a scope restricts collection and date only."""
    return not (scope.digest or scope.prefix or scope.source_file)


def hidden_spans(decisions: Decisions, collections: Iterable[str]) -> tuple[HiddenSpan, ...]:
    """Return the date spans that are hidden unless a narrower rule says otherwise.

    If a rule restricts a collection, each of `collections` and each collection named in a rule has
    its own spans.
    """
    broad = [one for one in decisions.timed if is_broad(one.rule.scope)]
    if not any(one.is_restricting for one in broad):
        return ()
    named = {one.rule.scope.collection for one in broad} - {""}
    names = sorted(named.union(collections)) if named else [""]
    return tuple(span for name in names for span in _spans(decisions, broad, name))


def hides_unnamed(decisions: Decisions) -> bool:
    """Return whether spans are needed per collection, for collections without a rule too."""
    broad = [one for one in decisions.timed if is_broad(one.rule.scope)]
    return any(one.rule.scope.collection for one in broad) and any(
        one.is_restricting and not one.rule.scope.collection for one in broad
    )


def is_all_hidden(decisions: Decisions, collection: str, source_file: str = "") -> bool:
    """Return whether a whole collection, or an archive file of it, is hidden.

    Ignores rules about URLs and digests, which may show parts of it.
    """
    if decisions.hides_nothing:
        return False
    wide = [one for one in decisions.timed if not (one.rule.scope.digest or one.rule.scope.prefix)]
    found = list(_spans(decisions, wide, collection, source_file))
    return [span[:2] for span in found] == [(_FIRST, _LAST)]


def _spans(
    decisions: Decisions, rules: Sequence[TimedRule], collection: str, source_file: str = ""
) -> Iterator[HiddenSpan]:
    """Yield the hidden spans of a collection; decisions change only at the ends of rules."""
    starts = {_FIRST, *(one.since for one in rules if one.since)}
    starts |= {f"{int(one.to) + 1:014}" for one in rules if one.to < _LAST}
    begun = ""
    for start in sorted(starts):
        hidden = decisions.hides_values("", "", "", collection, source_file, start)
        if hidden and not begun:
            begun = start
        elif begun and not hidden:
            yield HiddenSpan(begun, f"{int(start) - 1:014}", collection)
            begun = ""
    if begun:
        yield HiddenSpan(begun, _LAST, collection)


def in_spans(spans: Sequence[HiddenSpan], timestamp: str, collection: str) -> bool:
    """Return whether a date is in one of the spans."""
    return any(span.holds(timestamp, collection) for span in spans)


class HiddenPlaces:
    """The places of hidden captures, in eight bytes each; thread-safe."""

    def __init__(self, store: FacetStore, decisions: Decisions) -> None:
        self._store = store
        self._decisions = decisions
        self._guard = threading.Lock()
        self._stamp = ""
        self._found: Mapping[str, array[int]] = {}

    def current(self) -> Mapping[str, "array[int]"]:
        """Return the offsets of hidden captures by `<collection>/<file name>`, unordered.

        Reads all captures once after each change to them.
        """
        with self._guard:
            stamp = self._store.stamp()
            if stamp != self._stamp:
                self._found = self._read()
                self._stamp = stamp
            return self._found

    def _read(self) -> Mapping[str, "array[int]"]:
        hides = self._decisions.hides_values
        found: defaultdict[str, array[int]] = defaultdict(lambda: array("q"))
        for some in self._store.capture_rows():
            for row in some.rows:
                collection, source_file = row[11], row[12]
                if hides(row[10], row[1], row[2] or "", collection, source_file, row[0]):
                    found[f"{collection}/{source_file}"].append(row[13])
        return dict(found)


MOST_LOOK_UPS = 500
"""For more changes than these, reading all captures is faster."""

_Span = tuple[str, str | None]


def changed_spans(before: Decisions, after: Decisions) -> list[_Span] | None:
    """Return urlkey spans covering all captures of pages whose decision changed.

    None if the changed rules are not about URLs or are many, or if known dates have changed
    (`AccessIndex.renew`).
    """
    if before.mark != after.mark:
        return None
    changed = {_sign(one): one for one in before.timed}
    for one in after.timed:
        if changed.pop(_sign(one), None) is None:
            changed[_sign(one)] = one
    scopes = [one.rule.scope for one in changed.values()]
    if len(scopes) > MOST_LOOK_UPS or not all(scope.prefix for scope in scopes):
        return None
    spans: list[_Span] = []
    for scope in scopes:
        keys, starts = reached_keys(scope)
        spans += [(key, None) for key in keys]
        # Captures of requests with a body have the method in their urlkey.
        spans += [_beginning(start) for start in (*map(method_prefix, keys), *starts)]
    return spans


def captures_in(engine: Engine, spans: Sequence[_Span]) -> Iterator[Capture]:
    """Yield the captures of spans, each once."""
    seen: set[str] = set()
    for start, end in spans:
        for capture in engine.captures(start, end):
            id = id_of_capture(capture)
            if id not in seen:
                seen.add(id)
                yield capture


def _sign(timed: TimedRule) -> tuple[str, str, str, str]:
    return timed.rule.id, timed.action, timed.since, timed.to


def _beginning(start: str) -> _Span:
    return start, start[:-1] + chr(ord(start[-1]) + 1)


HiddenAmong = Callable[[Collection[str]], set[str]]
"""Returns the hidden ones of some URLs, captured or not."""

_FIRST_ROWS, _AT_ONCE = 16, 256
_REDIRECT = CdxRow._fields.index("redirect")
_KEPT = 65_536


def hides_row(decisions: Decisions, row: CdxRow) -> bool:
    """Return whether a row of a capture index is hidden."""
    return decisions.hides_values(
        row.urlkey,
        row.url,
        _digest(row.digest),
        row.collection,
        "" if row.filename == NO_VALUE else row.filename,
        row.timestamp,
    )


def span_is_touched(decisions: Decisions, span: CdxSpan) -> bool:
    """Return whether a rule may hide captures of a span."""
    first, _, last, until = span.bounds()
    if " " in span.start and last in (first, f"{first}!"):
        return decisions.touches(first)
    return decisions.touches(first, f"{last}!" if until else last)


def visible_rows(rows: Iterator[CdxRow], decisions: Decisions) -> Iterator[CdxRow]:
    """Yield the visible rows."""
    return (row for row in rows if not hides_row(decisions, row))


def visible_blocks(
    engine: Engine, decisions: Decisions, span: CdxSpan, form: CdxLineForm
) -> Iterable[CdxBlock] | None:
    """Return the visible captures of a span in blocks, None if rows are as fast."""
    if span.newest_first or engine.cdx_blocks(span, form) is None:
        return None
    return _row_blocks(visible_rows(engine.cdx_rows(span), decisions))


def rows_naming_visible(rows: Iterator[CdxRow], hidden: HiddenAmong) -> Iterator[CdxRow]:
    """Yield rows without redirects to hidden URLs; batches are small at first, for speed."""
    size = _FIRST_ROWS
    for some in batches(rows, size):
        yield from _naming_visible(some, hidden)
        size = min(size * _FIRST_ROWS, _AT_ONCE)


def blocks_naming_visible(
    blocks: Iterable[CdxBlock], form: CdxLineForm, hidden: HiddenAmong
) -> Iterable[CdxBlock]:
    """Return blocks without redirects to hidden URLs; a list for a list."""
    named = _blocks_naming(blocks, form, hidden)
    return list(named) if isinstance(blocks, list) else named


def _blocks_naming(
    blocks: Iterable[CdxBlock], form: CdxLineForm, hidden: HiddenAmong
) -> Iterator[CdxBlock]:
    places = [at for at, place in enumerate(form.places) if place == _REDIRECT]
    for block in blocks:
        if block.rows:
            yield replace(block, rows=_naming_visible(block.rows, hidden))
        elif places:
            yield replace(block, text=_text_naming_visible(block.text, places, hidden))
        else:
            yield block


def _naming_visible(rows: Sequence[CdxRow], hidden: HiddenAmong) -> Sequence[CdxRow]:
    named = {row.redirect for row in rows if row.redirect != NO_VALUE}
    out = hidden(named) if named else named
    if not out:
        return rows
    return [row._replace(redirect=NO_VALUE) if row.redirect in out else row for row in rows]


def _text_naming_visible(text: str, places: Sequence[int], hidden: HiddenAmong) -> str:
    lines = [line.split(" ") for line in text.split("\n")[:-1]]
    named = {fields[places[0]] for fields in lines} - {NO_VALUE}
    out = hidden(named) if named else named
    if not out:
        return text
    for fields in lines:
        if fields[places[0]] in out:
            for place in places:
                fields[place] = NO_VALUE
    return "".join(f"{' '.join(fields)}\n" for fields in lines)


def _row_blocks(rows: Iterator[CdxRow]) -> Iterator[CdxBlock]:
    while some := tuple(islice(rows, _AT_ONCE)):
        yield CdxBlock(rows=some)


@lru_cache(_KEPT)
def _digest(text: str) -> str:
    if text == NO_VALUE:
        return ""
    try:
        return normal_digest(text)
    except DigestError:
        return text
