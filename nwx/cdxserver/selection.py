"""Selects the captures of a query, in its order, with as few as possible in memory."""

import heapq
import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, groupby, islice

from nwx.cdx.layouts import NO_VALUE, ORIGINAL_FIELDS
from nwx.cdx.rows import CdxRow, extra_fields, is_revisit_row
from nwx.cdxserver.filters import Collapsing, normal_or_same
from nwx.cdxserver.query_model import CdxQuery, Resume, RowOrder
from nwx.cdxserver.sources import RowSource, cdx_place
from nwx.engine.capture_index import CdxSpan, exactly
from nwx.errors import TimestampError
from nwx.values.timestamps import parse_timestamp

_NEVER = 1 << 60
_LOWEST = "00000101000000"


RowsSeen = Callable[[Sequence[CdxRow]], None]


class SelectedRows:
    """The captures of an answer; can be iterated once only.

    `resume` is set after the last one: the position for the next query, None if nothing is left or
    it was not requested. For an answer with originals, `seen` is called with all captures before
    the first is returned. `told` is applied to rows before they are returned.
    """

    def __init__(
        self,
        query: CdxQuery,
        source: RowSource,
        seen: RowsSeen | None = None,
        told: Callable[[CdxRow], CdxRow] | None = None,
    ) -> None:
        self._query = query
        self._source = source
        self._seen, self._told = seen, told
        self.resume: Resume | None = None

    def __iter__(self) -> Iterator[CdxRow]:
        found = self._rows()
        if self._query.resolve_revisits:
            found = _OriginalPlaces(self._query, self._source).added(found)
        if self._query.with_originals:
            rows = _with_originals(list(found), self._query, self._source)
            if self._seen is not None:
                self._seen(rows)
            found = iter(rows)
        return found if self._told is None else map(self._told, found)

    def _rows(self) -> Iterator[CdxRow]:
        query = self._query
        if query.newest:
            return iter(_newest(query, self._source))
        if query.order is RowOrder.CLOSEST:
            return _cut(_closest(query, self._source), query)
        if query.collapse_first:
            return _cut(_turned(query, self._source), query)
        if query.show_resume_key:
            return self._resumable()
        return _cut(_in_order(query, self._source), query)

    def _resumable(self) -> Iterator[CdxRow]:
        """Yield rows up to the limit, and store the position of the last one."""
        counted = _Counted(_raw(self._query, self._source), self._query.resume)
        rows = islice(_kept(counted, self._query), self._query.offset, None)
        limit = self._query.limit
        for number, row in enumerate(rows, 1):
            here = counted.here()
            yield row
            if number == limit:
                self.resume = here if next(rows, None) is not None else None
                return


class _Counted:
    """Iterates over rows, and counts those read with the current urlkey and time."""

    def __init__(self, rows: Iterable[CdxRow], resume: Resume | None) -> None:
        self._rows = rows
        self._place = (resume.urlkey, resume.timestamp) if resume else ("", "")
        # The last row is read again, as collapsing depends on it.
        self._read = max(resume.read - 1, 0) if resume else 0

    def __iter__(self) -> Iterator[CdxRow]:
        for row in self._rows:
            if row[:2] != self._place:
                self._place, self._read = (row.urlkey, row.timestamp), 0
            self._read += 1
            yield row

    def here(self) -> Resume:
        return Resume(*self._place, self._read)


def _cut(rows: Iterator[CdxRow], query: CdxQuery) -> Iterator[CdxRow]:
    if query.limit is None:
        return islice(rows, query.offset, None) if query.offset else rows
    return islice(rows, query.offset, query.offset + query.limit)


def _in_order(query: CdxQuery, source: RowSource) -> Iterator[CdxRow]:
    return _kept(_raw(query, source), query)


def _turned(query: CdxQuery, source: RowSource) -> Iterator[CdxRow]:
    """Return the last of the collapsed rows, as many as requested, in reverse order."""
    rows = _in_order(replace(query, order=RowOrder.DEFAULT), source)
    return reversed(deque(rows, maxlen=(query.limit or 0) + query.offset))


def _raw(query: CdxQuery, source: RowSource) -> Iterator[CdxRow]:
    """Yield all rows from the start, or from the end of an earlier answer."""
    span = narrowed(query)
    if query.order is RowOrder.REVERSE:
        span = replace(span, newest_first=True)
    resume = query.resume
    if resume is None:
        return source.rows(span)
    start = max(f"{resume.urlkey} {resume.timestamp}", span.start)
    return _skipping(source.rows(replace(span, start=start)), resume)


def _skipping(rows: Iterator[CdxRow], resume: Resume) -> Iterator[CdxRow]:
    """Skip the rows read before the last row of an earlier answer."""
    skipped = 0
    for row in rows:
        if skipped < resume.read - 1 and row[:2] == (resume.urlkey, resume.timestamp):
            skipped += 1
            continue
        yield row
        break
    yield from rows


def _kept(rows: Iterable[CdxRow], query: CdxQuery) -> Iterator[CdxRow]:
    """Yield the rows in the time range that pass the filters, collapsed."""
    kept = _matching(rows, query)
    if query.collapsing:
        kept = _collapsed(kept, query.collapsing)
    if query.resume is not None and query.resume.read:
        return _after(kept, query.resume)
    return kept


def _after(rows: Iterator[CdxRow], resume: Resume) -> Iterator[CdxRow]:
    """Skip the last row of the earlier answer."""
    first = next(rows, None)
    if first is not None and first[:2] != (resume.urlkey, resume.timestamp):
        yield first
    yield from rows


def _matching(rows: Iterable[CdxRow], query: CdxQuery) -> Iterator[CdxRow]:
    tests = [*_date_tests(query), *(condition.keeps for condition in query.filters)]
    if not tests:
        return iter(rows)
    if len(tests) == 1:
        return filter(tests[0], rows)
    return (row for row in rows if all(test(row) for test in tests))


def _date_tests(query: CdxQuery) -> Iterator[Callable[[CdxRow], bool]]:
    """Yield tests of the time range; for one URL, the span has it already."""
    if query.urlkey:
        return
    first, last = query.date_from, query.date_to
    if first:
        yield lambda row: row.timestamp >= first
    if last:
        yield lambda row: row.timestamp[: len(last)] <= last


def narrowed(query: CdxQuery) -> CdxSpan:
    """Return the span of a query; for one URL, it is cut to the requested time range."""
    span = query.span
    if not query.urlkey or not (query.date_from or query.date_to):
        return span
    # `:` sorts after the digits, so that a year as the end includes all of it.
    end = f"{query.urlkey} {query.date_to}:" if query.date_to else span.end
    return replace(span, start=f"{query.urlkey} {query.date_from}", end=end)


def _collapsed(rows: Iterator[CdxRow], collapsing: Sequence[Collapsing]) -> Iterator[CdxRow]:
    for one in collapsing:
        rows = _last_of_each(rows, one) if one.last else _first_of_each(rows, one)
    return rows


def _first_of_each(rows: Iterator[CdxRow], collapsing: Collapsing) -> Iterator[CdxRow]:
    before: str | None = None
    for row in rows:
        value = collapsing.value(row)
        if value != before:
            yield row
        before = value


def _last_of_each(rows: Iterator[CdxRow], collapsing: Collapsing) -> Iterator[CdxRow]:
    for _, group in groupby(rows, key=collapsing.value):
        *_, last = deque(group, maxlen=1)
        yield last


def _newest(query: CdxQuery, source: RowSource) -> list[CdxRow]:
    """Return the newest originals, followed by revisits if there are too few.

    Clients request the newest captures to find the original of a new one; a revisit has no payload
    to refer to.
    """
    found = _newest_collapsed(query, source) if query.collapsing else _newest_read(query, source)
    found.sort(key=cdx_place, reverse=query.order is RowOrder.REVERSE)
    return found


def _newest_read(query: CdxQuery, source: RowSource) -> list[CdxRow]:
    limit = query.limit or 0
    span = replace(narrowed(query), newest_first=True)
    found: list[CdxRow] = []
    kinds = (False,) if any(one.refuses_revisits for one in query.filters) else (False, True)
    for revisits in kinds:
        wanted = limit - len(found)
        if wanted:
            rows = source.rows(replace(span, revisits=revisits))
            found += islice(_matching(rows, query), wanted)
    found.reverse()
    return found


def _newest_collapsed(query: CdxQuery, source: RowSource) -> list[CdxRow]:
    """Return the newest captures, after collapsing all in their usual order."""
    limit = query.limit or 0
    originals: deque[CdxRow] = deque(maxlen=limit)
    revisits: deque[CdxRow] = deque(maxlen=limit)
    for row in _in_order(replace(query, order=RowOrder.DEFAULT), source):
        (revisits if is_revisit_row(row) else originals).append(row)
    missing = limit - len(originals)
    return [*originals, *(list(revisits)[-missing:] if missing else ())]


def _with_originals(rows: list[CdxRow], query: CdxQuery, source: RowSource) -> list[CdxRow]:
    """Append the first originals of revisits without an original among the rows.

    To replay a revisit, clients look for a capture with the same digest in the same answer.
    """
    wanted = {normal_or_same(row.digest) for row in rows if is_revisit_row(row)}
    wanted -= {normal_or_same(row.digest) for row in rows if not is_revisit_row(row)} | {NO_VALUE}
    found: dict[str, CdxRow] = {}
    originals = source.rows(replace(query.span, revisits=False)) if wanted else iter(())
    for row in originals:
        digest = normal_or_same(row.digest)
        if digest in wanted:
            found.setdefault(digest, row)
        if len(found) == len(wanted):
            break
    return rows + [found[digest] for digest in sorted(found)]


class _OriginalPlaces:
    """Adds the locations of originals to the revisits of an answer.

    An original that is not among the captures of the answer is looked up: it may be out of the time
    range, filtered out, or later in the answer.
    """

    def __init__(self, query: CdxQuery, source: RowSource) -> None:
        self._collection, self._source = query.span.collection, source
        self._urlkey, self._is_read = "", False
        self._originals: dict[str, CdxRow] = {}

    def added(self, rows: Iterable[CdxRow]) -> Iterator[CdxRow]:
        """Yield the rows; revisits get the location of the earlier original of the same URL."""
        for row in rows:
            if row.urlkey != self._urlkey:
                self._urlkey, self._is_read, self._originals = row.urlkey, False, {}
            digest = normal_or_same(row.digest)
            if not is_revisit_row(row):
                self._originals.setdefault(digest, row)
                yield row
                continue
            original = self._original(digest, row.timestamp)
            if original is None:
                yield row
                continue
            place = (original.length, original.offset, original.filename)
            told = dict(zip(ORIGINAL_FIELDS, place, strict=True)) | extra_fields(row)
            yield row._replace(extra=json.dumps(told))

    def _original(self, digest: str, timestamp: str) -> CdxRow | None:
        if digest == NO_VALUE:
            return None
        found = self._originals.get(digest)
        if (found is None or found.timestamp > timestamp) and not self._is_read:
            self._is_read = True
            span = replace(exactly(self._urlkey, collection=self._collection), revisits=False)
            for row in self._source.rows(span):
                first = self._originals.get(normal_or_same(row.digest))
                if first is None or first.timestamp > row.timestamp:
                    self._originals[normal_or_same(row.digest)] = row
            found = self._originals.get(digest)
        return None if found is None or found.timestamp > timestamp else found


def _closest(query: CdxQuery, source: RowSource) -> Iterator[CdxRow]:
    if not query.urlkey or query.collapsing:
        rows = _in_order(replace(query, order=RowOrder.DEFAULT), source)
        wanted = (query.limit or 0) + query.offset
        return iter(heapq.nsmallest(wanted, rows, key=_distance_from(query.closest)))
    return _matching(_from_the_middle(query, source), query)


def _from_the_middle(query: CdxQuery, source: RowSource) -> Iterator[CdxRow]:
    """Yield the captures of one URL by distance from a time, earlier ones first if equal."""
    span = narrowed(query)
    middle = f"{query.urlkey} {query.closest}:"
    before = replace(span, end=min(span.end, middle), newest_first=True)
    behind = replace(span, start=max(span.start, middle))
    earlier = _oldest_first_at_once(source.rows(before)) if before.start < before.end else ()
    later = source.rows(behind) if behind.start < behind.end else ()
    return heapq.merge(earlier, later, key=_distance_from(query.closest))


def _oldest_first_at_once(rows: Iterator[CdxRow]) -> Iterator[CdxRow]:
    """Yield newest-first rows with those of the same timestamp in their usual order."""
    groups = groupby(rows, key=lambda row: row.timestamp)
    return chain.from_iterable(reversed(list(group)) for _, group in groups)


def _distance_from(timestamp: str) -> Callable[[CdxRow], float]:
    instant = parse_timestamp(timestamp)

    def distance(row: CdxRow) -> float:
        digits = row.timestamp
        try:
            moment = parse_timestamp(digits + _LOWEST[len(digits) :])
        except TimestampError:
            return _NEVER
        return abs((moment - instant).total_seconds())

    return distance
