"""Captures as rows and lines of a CDX, out of the columns of blocks."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import chain, dropwhile, repeat

from nwx.cdx.layouts import CDX_FIELDS, DIGEST, FILENAME, MIME, STATUS, URL
from nwx.cdx.rows import REVISIT, CdxRow
from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan
from nwx.engine.embedded.captures.blocks import BlockColumns
from nwx.engine.embedded.captures.runs import Choose, captures_between, snapshot

FIRST_ROWS = 256
_GET = "GET"

_STORED = {
    URL: ("url",),
    MIME: ("content_type", "record_type"),
    STATUS: ("status_code",),
    DIGEST: ("digest",),
    CDX_FIELDS.index("redirect"): ("redirect_to",),
    CDX_FIELDS.index("robotflags"): (),
    CDX_FIELDS.index("length"): ("record_length",),
    CDX_FIELDS.index("offset"): ("source_file_offset",),
    FILENAME: ("source_file",),
}
"""The columns that the fields of a line are made of, where they are not called the same."""

_ROW_FIELDS = (
    "urlkey",
    "timestamp",
    *chain.from_iterable(_STORED.values()),
    "collection",
    "method",
)
_LINE_FIELDS = (*_ROW_FIELDS, "bare_digest", "plain")


def rows_of(db: sqlite3.Connection, span: CdxSpan) -> Iterator[CdxRow]:
    """Stream the rows of a span."""
    for piece in _pieces(db, span, _ROW_FIELDS):
        yield from _rows(piece)


def _rows(piece: BlockColumns) -> Iterator[CdxRow]:
    fields = [_texts(piece, place, bare=False) for place in range(len(CDX_FIELDS))]
    extra = map(_extra, piece["method"])
    return map(CdxRow._make, zip(*fields, piece["collection"], extra, strict=True))


def rows_behind(db: sqlite3.Connection, span: CdxSpan, last: CdxRow) -> Iterator[CdxRow]:
    """Stream the rows of a span after one of its rows."""
    position, place = f"{last.urlkey} {last.timestamp}", _place(last)
    if span.newest_first:
        # Behind `!` come no more timestamps of the same beginning.
        part = replace(span, end=f"{position}!")
        return dropwhile(lambda row: _place(row) >= place, rows_of(db, part))
    part = replace(span, start=position)
    return dropwhile(lambda row: _place(row) <= place, rows_of(db, part))


def marks(db: sqlite3.Connection, span: CdxSpan, every: int) -> Iterator[str]:
    """Stream the urlkey and timestamp of the first of every `every` captures of a span."""
    forward = replace(span, newest_first=False)
    begin = 0
    for piece in _pieces(db, forward, ("urlkey", "timestamp")):
        keys, times = piece["urlkey"], piece["timestamp"]
        for place in range(begin, len(keys), every):
            yield f"{keys[place]} {times[place]}"
        begin = (begin - len(keys)) % every if len(keys) > begin else begin - len(keys)


def collections(db: sqlite3.Connection) -> list[str]:
    """Return the names of the collections that have had captures."""
    found = db.execute(
        "SELECT DISTINCT collection FROM sources WHERE code <= coalesce("
        "(SELECT min(sources) FROM runs WHERE NOT shown AND sources >= 0), code)"
        " ORDER BY collection"
    )
    return [name for (name,) in found]


def line_blocks(
    reading: "Connected", streaming: "Connected", span: CdxSpan, form: CdxLineForm
) -> Iterator[CdxBlock] | None:
    """Return the captures of a span as lines, with connections for short and for long reads."""
    return None if span.newest_first else _blocks(reading, streaming, span, form)


Connected = Callable[[], AbstractContextManager[sqlite3.Connection]]


def _blocks(
    reading: Connected, streaming: Connected, span: CdxSpan, form: CdxLineForm
) -> Iterator[CdxBlock]:
    blocks: list[CdxBlock] = []
    with reading() as db, snapshot(db):
        pieces = _pieces(db, span, _LINE_FIELDS)
        number = 0
        while number < FIRST_ROWS and (piece := next(pieces, None)):
            blocks.append(_as_block(piece, form))
            number += len(piece["urlkey"])
        is_all = next(pieces, None) is None
        del pieces
    if is_all:
        yield from blocks
        return
    with streaming() as db, snapshot(db):
        yield from map(_as_block, _pieces(db, span, _LINE_FIELDS), repeat(form))


def _as_block(piece: BlockColumns, form: CdxLineForm) -> CdxBlock:
    """Return captures as one text, or as rows where the lines are not plain."""
    names = piece["source_file"] if FILENAME in form.places else ()
    if not all(piece["plain"]) or not _are_plain(names):
        return CdxBlock(rows=tuple(_rows(piece)))
    texts = [_texts(piece, place, bare=form.bare_digests) for place in form.places]
    text = "\n".join(map(" ".join, zip(*texts, strict=True))) + "\n"
    return CdxBlock(text, len(texts[0]))


def _are_plain(names: Sequence[str]) -> bool:
    text = "".join(set(names))
    return " " not in text and text.isprintable()


def _texts(piece: BlockColumns, place: int, *, bare: bool) -> Sequence[str]:
    """Return a field of a CDX, out of the columns of captures."""
    if place not in _STORED:
        values: Sequence[str] = piece[CDX_FIELDS[place]]
        return values
    if place == DIGEST and bare:
        return _filled(piece["bare_digest"])
    names = _STORED[place]
    if not names:
        return ["-"] * len(piece["urlkey"])
    if place == MIME:
        types = piece["record_type"]
        if "revisit" in types:
            pairs = zip(types, piece["content_type"], strict=True)
            return [REVISIT if type == "revisit" else mime or "unk" for type, mime in pairs]
        return _filled(piece["content_type"], "unk")
    return _filled(piece[names[0]])


def _filled(values: Sequence[str], missing: str = "-") -> Sequence[str]:
    return [value or missing for value in values] if "" in values else values


def _pieces(db: sqlite3.Connection, span: CdxSpan, fields: Sequence[str]) -> Iterator[BlockColumns]:
    first, since, last, until = span.bounds()
    choose: Choose | None = None
    if span.collection or span.revisits is not None:
        fields = (*fields, "collection", "record_type")
        choose = _chooser(span)
    return captures_between(
        db, (first, since), (last, until), fields, newest_first=span.newest_first, choose=choose
    )


def _chooser(span: CdxSpan) -> Choose:
    def choose(piece: BlockColumns) -> list[bool]:
        pairs = zip(piece["collection"], piece["record_type"], strict=True)
        return [
            (not span.collection or collection == span.collection)
            and (span.revisits is None or (type == "revisit") is span.revisits)
            for collection, type in pairs
        ]

    return choose


def _extra(method: str) -> str:
    return "" if method == _GET else json.dumps({"method": method}, separators=(",", ":"))


def _place(row: CdxRow) -> tuple[str, str, str, int, str]:
    return row.urlkey, row.timestamp, row.filename, int(row.offset), row.collection
