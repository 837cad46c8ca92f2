"""The outlinks that crawlers record: `outlink:` lines of metadata records, as Heritrix writes them.

A line is the URL, the hop (one letter: L link, E embed, X speculative, R redirect, I inferred, …)
and the context, which is the element and attribute (`a/@href`) or a name in capitals (`=JS_MISC`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nwx.values.http import Fields, to_text
from nwx.values.urls import decoded_url
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
    """The outlinks of a metadata record, and what names the capture that has them.

    `offset` is the place of the metadata record. `names` are the ids of the records that it is
    concurrent to or refers to; `url` and `date` are its own, as the record has them, which are
    those of its capture in most cases. `cut` tells that there are more outlinks than were read.
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
    """Return the outlinks of several metadata records, and whether there are more than these."""
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
