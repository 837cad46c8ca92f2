"""Which records of a file belong together: a capture, its request, its metadata."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from nwx.warc.captures import ENRICHING, is_capture
from nwx.warc.record import Record

_MOST_PENDING = 8


@dataclass(slots=True)
class Group:
    """A run of records with at most one capture, and what enriches it.

    `kinds` are the types of all records of the run, `offset` and
    `last_offset` the places of the first and last. `next_offset` is where
    the next run begins, None at the end of the file.
    """

    capture: Record | None = None
    beside: list[Record] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    offset: int = 0
    last_offset: int = 0
    next_offset: int | None = None


def record_groups(records: Iterable[Record]) -> Iterator[Group]:
    """Yield the records of a file in runs that can be told without what came before.

    Requests and metadata stand before or after their capture. They belong
    to it when one names the other as concurrent, or when URL and date are
    the same.
    """
    group = Group()
    for record in records:
        if group.capture is not None and not _stays(group, record):
            group.next_offset = record.offset
            yield group
            group = Group()
        _add(group, record)
    if group.kinds:
        yield group


def _stays(group: Group, record: Record) -> bool:
    """Whether a record behind a capture belongs to it."""
    if record.kind not in ENRICHING or group.capture is None:
        return False
    if any(other.kind == record.kind for other in group.beside):
        return False
    return _linked(record, group.capture)


def _add(group: Group, record: Record) -> None:
    if not group.kinds:
        group.offset = record.offset
    group.last_offset = record.offset
    group.kinds.append(record.kind)
    if is_capture(record):
        group.capture = record
        group.beside = [other for other in group.beside if _linked(other, record)]
    elif record.kind in ENRICHING:
        group.beside = [*group.beside[-_MOST_PENDING + 1 :], record]


def _linked(record: Record, capture: Record) -> bool:
    fields, others = record.fields, capture.fields
    own_id = others.get(b"warc-record-id")
    concurrent = fields.get(b"warc-concurrent-to")
    if concurrent and concurrent == own_id:
        return True
    other_concurrent = others.get(b"warc-concurrent-to")
    if other_concurrent and other_concurrent in (fields.get(b"warc-record-id"), concurrent):
        return True
    return fields.get(b"warc-target-uri") == others.get(b"warc-target-uri") and fields.get(
        b"warc-date"
    ) == others.get(b"warc-date")
