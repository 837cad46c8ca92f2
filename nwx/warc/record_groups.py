"""Which records of a file belong together: a capture, its request, its metadata."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from nwx.warc.captures import ENRICHING, is_capture
from nwx.warc.enrichment.outlinks import (
    RecordedOutlinks,
    capture_names,
    has_outlinks,
    recorded_outlinks,
)
from nwx.warc.record import Record

_MOST_PENDING = 8
_MOST_METADATA = 8
_MOST_APART = 16


@dataclass(slots=True)
class Group:
    """A run of records with at most one capture, and what enriches it.

    `kinds` are the types of all records of the run, `offset` and
    `last_offset` the places of the first and last. `next_offset` is where
    the next run begins, None at the end of the file. `apart` are the outlinks
    of metadata records in the run that belong to a capture elsewhere.
    """

    capture: Record | None = None
    beside: list[Record] = field(default_factory=list)
    apart: list[RecordedOutlinks] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    offset: int = 0
    last_offset: int = 0
    next_offset: int | None = None


def record_groups(records: Iterable[Record]) -> Iterator[Group]:
    """Yield the records of a file in runs that can be told without what came before.

    Requests and metadata stand before or after their capture. They belong
    to it when one names the other as concurrent or refers to it, or when
    URL and date are the same.
    """
    group = Group()
    for record in records:
        capture = group.capture
        if capture is not None:
            if not _stays(group, record, capture):
                group.next_offset = record.offset
                yield group
                group = Group()
        elif len(group.apart) >= _MOST_APART:
            group.next_offset = record.offset
            yield replace(group, beside=[])
            group = Group(beside=group.beside)
        _add(group, record)
    if group.kinds:
        if group.capture is None:
            _leave(group, group.beside)
        yield group


def _stays(group: Group, record: Record, capture: Record) -> bool:
    """Whether a record behind a capture belongs to it."""
    kind = record.kind
    if kind not in ENRICHING:
        return False
    if group.beside:
        alike = sum(other.kind == kind for other in group.beside)
        if alike >= (_MOST_METADATA if kind == "metadata" else 1):
            return False
    return _linked(record, capture)


def _add(group: Group, record: Record) -> None:
    kinds, beside = group.kinds, group.beside
    if not kinds:
        group.offset = record.offset
    group.last_offset = record.offset
    kinds.append(record.kind)
    if record.kind in ENRICHING:
        if group.capture is None and len(beside) >= _MOST_PENDING:
            _leave(group, beside[: -_MOST_PENDING + 1])
            group.beside = beside = beside[-_MOST_PENDING + 1 :]
        beside.append(record)
    elif is_capture(record):
        group.capture = record
        own = [other for other in beside if _linked(other, record)]
        if len(own) < len(beside):
            _leave(group, [other for other in beside if other not in own])
            group.beside = own


def _leave(group: Group, records: list[Record]) -> None:
    """Keep the outlinks of records that do not belong to the capture of a run."""
    group.apart.extend(recorded_outlinks(record) for record in records if has_outlinks(record))


def _linked(record: Record, capture: Record) -> bool:
    get, other = record.fields.get, capture.fields.get
    own_id, concurrent = other(b"warc-record-id"), get(b"warc-concurrent-to")
    if own_id and (own_id == concurrent or own_id in capture_names(record.fields)):
        return True
    other_concurrent = other(b"warc-concurrent-to")
    if other_concurrent and other_concurrent in (get(b"warc-record-id"), concurrent):
        return True
    return get(b"warc-target-uri") == other(b"warc-target-uri") and get(b"warc-date") == other(
        b"warc-date"
    )
