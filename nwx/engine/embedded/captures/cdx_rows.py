"""CDX rows and lines made from the columns of blocks."""

import json
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import lru_cache
from itertools import chain, dropwhile, repeat

from nwx.cdx.layouts import CDX_FIELDS, DIGEST, FILENAME, MIME, STATUS, URL
from nwx.cdx.rows import REVISIT, CdxRow
from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan
from nwx.engine.embedded.captures.block_lookups import BlockPart
from nwx.engine.embedded.captures.blocks import LINE_FIELDS, BlockColumns, Same
from nwx.engine.embedded.captures.runs import Choose, captures_between, parts_of_url, snapshot

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
"""The columns from which fields of a line are made, where their names differ."""

_ROW_FIELDS = (
    "urlkey",
    "timestamp",
    *chain.from_iterable(_STORED.values()),
    "collection",
    "method",
)
_LINE_FIELDS = (*_ROW_FIELDS, "bare_digest", "plain")


def rows_of(db: sqlite3.Connection, span: CdxSpan) -> Iterator[CdxRow]:
    """Yield the rows of a span."""
    for piece in _pieces(db, span, _ROW_FIELDS):
        yield from _rows(piece)


def _rows(piece: BlockColumns) -> Iterator[CdxRow]:
    fields = [_texts(piece, place, bare=False) for place in range(len(CDX_FIELDS))]
    extra = map(_extra, piece["method"])
    return map(CdxRow._make, zip(*fields, piece["collection"], extra, strict=True))


def rows_behind(db: sqlite3.Connection, span: CdxSpan, last: CdxRow) -> Iterator[CdxRow]:
    """Yield the rows of a span after one of its rows."""
    position, place = f"{last.urlkey} {last.timestamp}", _place(last)
    if span.newest_first:
        # `!` sorts after all places with this timestamp.
        part = replace(span, end=f"{position}!")
        return dropwhile(lambda row: _place(row) >= place, rows_of(db, part))
    part = replace(span, start=position)
    return dropwhile(lambda row: _place(row) <= place, rows_of(db, part))


def marks(db: sqlite3.Connection, span: CdxSpan, every: int) -> Iterator[str]:
    """Yield the urlkey and timestamp of the first of every `every` captures of a span."""
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
) -> Iterable[CdxBlock] | None:
    """Return the captures of a span as lines, None if newest first; long reads use `streaming`."""
    if span.newest_first:
        return None
    first, since, last, until = span.bounds()
    if not (since or until) and last == f"{first}!":
        with reading() as db:
            found = _blocks_of_url(db, first, span, form)
        if found is not None:
            return found
    return _blocks(reading, streaming, span, form)


def _blocks_of_url(
    db: sqlite3.Connection, urlkey: str, span: CdxSpan, form: CdxLineForm
) -> list[CdxBlock] | None:
    """Return the captures of a URL as lines, None if they are many or in several runs."""
    parts = parts_of_url(db, urlkey)
    if parts is None or len(parts) > 1:
        return None
    choose = _chooser(span) if span.collection or span.revisits is not None else None
    blocks = []
    for part in chain.from_iterable(parts.values()):
        piece: BlockColumns = part
        if choose is not None and not all(which := choose(part)):
            piece = part.chosen(which, (*_LINE_FIELDS, "record_type"))
        if piece:
            blocks.append(_as_block(piece, form))
    return blocks


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


_LinePlan = tuple[bool, Sequence[int], Sequence[str]]
"""Whether all lines of a block are plain, the fields that vary, and the texts around them."""


def _as_block(piece: BlockColumns, form: CdxLineForm) -> CdxBlock:
    """Return captures as one text, or as rows if their lines are not plain."""
    same = piece.same if isinstance(piece, BlockPart) else _UNKNOWN
    is_plain, places, between = _line_plan(same, form)
    names = piece["source_file"] if FILENAME in places else ()
    if not (is_plain or all(piece["plain"])) or not _are_plain(names):
        return CdxBlock(rows=tuple(_rows(piece)))
    number = len(piece["timestamp"])
    # Alternating values and texts between them is faster than building line by line.
    texts = [sign for one in between[1:] for sign in ("", one)] * number
    for place, field in enumerate(places):
        texts[2 * place :: 2 * len(places)] = _texts(piece, field, bare=form.bare_digests)
    first = between[0]
    text = first + "".join(texts) if places else first * number
    return CdxBlock(text.removesuffix(first) if first and places else text, number)


_UNKNOWN: Same = (None,) * len(LINE_FIELDS)


@lru_cache(1_000)
def _line_plan(same: Same, form: CdxLineForm) -> _LinePlan:
    """Return the plan by which the lines of a block are written."""
    known = dict(zip(LINE_FIELDS, same, strict=True))
    places, between = [], [""]
    for place in form.places:
        value = _same_text(known, place)
        if value is None:
            places.append(place)
            between.append(" ")
        else:
            between[-1] += f"{value} "
    # The text after the last varying field also contains the start of the next line.
    between[-1] = f"{between[-1][:-1]}\n{between[0] if places else ''}"
    return bool(known["plain"]), places, between


def _same_text(known: Mapping[str, str | None], place: int) -> str | None:
    """Return the value of a CDX field that all captures of a block share, None if unknown."""
    if place in (DIGEST, FILENAME):
        return None
    names = _STORED.get(place, (CDX_FIELDS[place],))
    values = [known[name] for name in names]
    if None in values:
        return None
    if place == MIME and values[1] == "revisit":
        return REVISIT
    return (values[0] if values else "") or ("unk" if place == MIME else "-")


def _are_plain(names: Sequence[str]) -> bool:
    text = "".join(set(names))
    return " " not in text and text.isprintable()


def _texts(piece: BlockColumns, place: int, *, bare: bool) -> Sequence[str]:
    """Return the values of a CDX field from the columns of captures."""
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
    def choose(piece: BlockColumns) -> Sequence[bool]:
        if span.revisits is None:
            if isinstance(piece, BlockPart) and piece.is_all_of(span.collection):
                return ()
            return [one == span.collection for one in piece["collection"]]
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
