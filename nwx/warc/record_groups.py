"""Records that belong together: a capture, its request, its metadata with outlinks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from nwx.values.http import Fields, to_text
from nwx.values.urls import decoded_url
from nwx.warc.captures import ENRICHING, is_capture
from nwx.warc.record import Record

OUTLINK_BYTES = 4 << 20
"""So much of a metadata record is read for outlinks."""

MOST_OUTLINKS = 10_000
"""So many outlinks of one metadata record are read."""

_FIELD = b"outlink:"
_LONGEST_LINE = 8_192
_MOST_NAMES = 4


class Outlink(NamedTuple):
    """A URL that a crawler found in a capture, the letter of its hop, and where it found it."""

    url: str
    hop: str
    context: str


class RecordedOutlinks(NamedTuple):
    """The outlinks of a metadata record, and how to find their capture.

    `offset` is the offset of the metadata record. `names` are the ids of the records it is
    concurrent to or refers to; `url` and `date` are the record's own, mostly equal to the
    capture's. `cut`: not all outlinks were read.
    """

    offset: int
    names: tuple[bytes, ...]
    url: bytes
    date: bytes
    outlinks: tuple[Outlink, ...]
    cut: bool


def has_outlinks(record: Record) -> bool:
    """Return whether a record is metadata with at least one outlink."""
    if record.kind != "metadata":
        return False
    block = bytes(record.block[:OUTLINK_BYTES])
    return block.startswith(_FIELD) or b"\n" + _FIELD in block


def recorded_outlinks(record: Record) -> RecordedOutlinks:
    """Return the outlinks of a metadata record, each once, in their order."""
    found = dict.fromkeys(_outlinks(bytes(record.block[:OUTLINK_BYTES])))
    cut = len(found) > MOST_OUTLINKS or record.block_length > OUTLINK_BYTES
    fields = record.fields
    return RecordedOutlinks(
        record.offset,
        capture_names(fields),
        fields.get(b"warc-target-uri"),
        fields.get(b"warc-date"),
        tuple(found)[:MOST_OUTLINKS],
        cut,
    )


def capture_names(fields: Fields) -> tuple[bytes, ...]:
    """Return the ids of the records that a record is concurrent to or refers to."""
    values = (fields.get(b"warc-concurrent-to"), fields.get(b"warc-refers-to"))
    return tuple(value for value in values if value)[:_MOST_NAMES]


def distinct_outlinks(records: Sequence[Record]) -> tuple[list[Outlink], bool]:
    """Return the distinct outlinks of metadata records, and whether there are more."""
    found: dict[Outlink, None] = {}
    cut = False
    for record in records:
        read = recorded_outlinks(record)
        found.update(dict.fromkeys(read.outlinks))
        cut = cut or read.cut
    return list(found)[:MOST_OUTLINKS], cut or len(found) > MOST_OUTLINKS


def _outlinks(block: bytes) -> Iterator[Outlink]:
    for line in block.split(b"\n"):
        if not line.startswith(_FIELD) or len(line) > _LONGEST_LINE:
            continue
        url, _, rest = line[len(_FIELD) :].strip().partition(b" ")
        hop, _, context = to_text(rest).partition(" ")
        if url:
            yield Outlink(decoded_url(url), hop[:1], context.strip()[:100])


_MOST_PENDING = 8
_MOST_METADATA = 8
_MOST_APART = 16


@dataclass(slots=True)
class Group:
    """A run of records with at most one capture and the records that enrich it.

    `kinds` are the types of all records in the run, `offset` and `last_offset` the places of the
    first and last. `next_offset` is the start of the next run, None at the end of the file. `apart`
    are the outlinks of metadata records in the run that belong to a capture outside it.
    """

    capture: Record | None = None
    beside: list[Record] = field(default_factory=list)
    apart: list[RecordedOutlinks] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    offset: int = 0
    last_offset: int = 0
    next_offset: int | None = None


def record_groups(records: Iterable[Record]) -> Iterator[Group]:
    """Yield the records of a file in runs that are independent of earlier records.

    Requests and metadata stand before or after their capture. They belong to it if one names the
    other as concurrent or refers to it, or if URL and date are equal.
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
    """Return whether a record after a capture belongs to it."""
    kind = record.kind
    if kind not in ENRICHING:
        return False
    if group.beside:
        alike = sum(other.kind == kind for other in group.beside)
        if alike >= (_MOST_METADATA if kind == "metadata" else 1):
            return False
    return belongs_to(record, capture)


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
        own = [other for other in beside if belongs_to(other, record)]
        if len(own) < len(beside):
            _leave(group, [other for other in beside if other not in own])
            group.beside = own


def _leave(group: Group, records: list[Record]) -> None:
    """Keep the outlinks of records that do not belong to the capture of a run."""
    group.apart.extend(recorded_outlinks(record) for record in records if has_outlinks(record))


def belongs_to(record: Record, capture: Record) -> bool:
    """Return whether a request or metadata record is about a capture, by its ids, URL and date."""
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
