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
        if group.capture is not None and not _stays(group, record):
            group.next_offset = record.offset
            yield group
            group = Group()
        elif group.capture is None and len(group.apart) >= _MOST_APART:
            group.next_offset = record.offset
            yield replace(group, beside=[])
            group = Group(beside=group.beside)
        _add(group, record)
    if group.kinds:
        if group.capture is None:
            _leave(group, group.beside)
        yield group


def _stays(group: Group, record: Record) -> bool:
    """Whether a record behind a capture belongs to it."""
    if record.kind not in ENRICHING or group.capture is None:
        return False
    alike = sum(other.kind == record.kind for other in group.beside)
    if alike >= (_MOST_METADATA if record.kind == "metadata" else 1):
        return False
    return _linked(record, group.capture)


def _add(group: Group, record: Record) -> None:
    if not group.kinds:
        group.offset = record.offset
    group.last_offset = record.offset
    group.kinds.append(record.kind)
    if is_capture(record):
        group.capture = record
        if group.beside:
            own = [other for other in group.beside if _linked(other, record)]
            if len(own) < len(group.beside):
                _leave(group, [other for other in group.beside if other not in own])
            group.beside = own
    elif record.kind in ENRICHING:
        if group.capture is None and len(group.beside) >= _MOST_PENDING:
            _leave(group, group.beside[: -_MOST_PENDING + 1])
            group.beside = group.beside[-_MOST_PENDING + 1 :]
        group.beside.append(record)


def _leave(group: Group, records: list[Record]) -> None:
    """Keep the outlinks of records that do not belong to the capture of a run."""
    group.apart.extend(recorded_outlinks(record) for record in records if has_outlinks(record))


def _linked(record: Record, capture: Record) -> bool:
    fields, others = record.fields, capture.fields
    own_id = others.get(b"warc-record-id")
    if own_id and own_id in capture_names(fields):
        return True
    concurrent = fields.get(b"warc-concurrent-to")
    other_concurrent = others.get(b"warc-concurrent-to")
    if other_concurrent and other_concurrent in (fields.get(b"warc-record-id"), concurrent):
        return True
    return fields.get(b"warc-target-uri") == others.get(b"warc-target-uri") and fields.get(
        b"warc-date"
    ) == others.get(b"warc-date")
