"""Look-ups of the captures of an archive in a folder, and reads in the order of storing."""

import re
import sqlite3
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from functools import lru_cache
from heapq import merge
from itertools import dropwhile, groupby, islice
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, NamedTuple

from nwx.captures import VALUE_FIELDS, CaptureColumns
from nwx.engine.capture_index import COLUMN_ROWS, CaptureIndex, KeysAtTime
from nwx.engine.embedded.captures import cdx_rows
from nwx.engine.embedded.captures.block_lookups import (
    DIGESTS,
    PLACES,
    BlockPart,
    digest_key,
    found_ranks,
    place_key,
    rank_moment,
    rank_parts,
)
from nwx.engine.embedded.captures.blocks import (
    BEGINNING,
    END,
    BlockColumns,
)
from nwx.engine.embedded.captures.runs import (
    ORDER_FIELDS,
    START,
    CdxPlace,
    block_numbered,
    captures_behind,
    captures_between,
    place_of_text,
    places_of,
    shown_runs,
    snapshot,
    text_of_place,
)
from nwx.engine.embedded.captures.url_lookups import (
    captures_of_columns,
    stored_captures,
    url_captures_near,
    url_statuses,
)
from nwx.engine.embedded.database import CAPTURE_NUMBERS, count_rows
from nwx.engine.embedded.folder import Folder
from nwx.errors import StaleMarkError
from nwx.model import Capture

if TYPE_CHECKING:
    from nwx.cdx.rows import CdxRow
    from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan


_BLOCKS_KEPT = 16

_place = attrgetter(*ORDER_FIELDS)


def captures_with_digest(db: sqlite3.Connection, digest: str, urlkey: str) -> Iterator[Capture]:
    """Yield captures, as `CaptureIndex.captures_of_digest` does."""
    found = _of_url(db, digest, urlkey) if urlkey else _of_any_url(db, digest)
    for _, some in groupby(found, key=lambda capture: rank_moment(capture.timestamp)):
        # Captures of one moment; out-of-range timestamps share one.
        held = sorted(some, key=itemgetter(*_LAST_FIRST))
        yield from sorted(held, key=lambda capture: capture.timestamp, reverse=True)


_LAST_FIRST = tuple(
    Capture._fields.index(name) for name in ("source_file", "source_file_offset", "collection")
)


def _of_url(db: sqlite3.Connection, digest: str, urlkey: str) -> Iterator[Capture]:
    pieces = captures_between(
        db,
        (urlkey, ""),
        (f"{urlkey}\0", ""),
        VALUE_FIELDS,
        newest_first=True,
        choose=lambda piece: _holding(piece, digest),
    )
    return (capture for piece in pieces for capture in captures_of_columns(piece))


def _of_any_url(db: sqlite3.Connection, digest: str) -> Iterator[Capture]:
    @lru_cache(_BLOCKS_KEPT)
    def held(run: int, number: int) -> Sequence[Capture]:
        block = block_numbered(db, run, number)
        if block is None:
            return ()
        piece = BlockPart(db, block)
        some = piece.chosen(_holding(piece, digest), VALUE_FIELDS)
        return list(captures_of_columns(some)) if some else ()

    def ranks(run: int) -> Iterator[tuple[int, int, int]]:
        for rank in found_ranks(db, run, DIGESTS, digest_key(digest)):
            yield *rank_parts(rank)[:1], run, rank_parts(rank)[1]

    for at, run, number in merge(*map(ranks, shown_runs(db))):
        yield from (one for one in held(run, number) if rank_moment(one.timestamp) == at)


def _holding(piece: BlockColumns, digest: str) -> list[bool]:
    pairs = zip(piece["digest"], piece["record_type"], strict=True)
    return [one == digest and type != "revisit" for one, type in pairs]


def capture_at(db: sqlite3.Connection, source: int, offset: int) -> Capture | None:
    """Return the capture at a file code and offset, None if there is none."""
    for run in shown_runs(db):
        for number in found_ranks(db, run, PLACES, place_key(source, offset)):
            if block := block_numbered(db, run, number):
                piece, place = BlockPart(db, block), (str(source), str(offset))
                pairs = zip(piece["source"], piece["source_file_offset"], strict=True)
                which = [pair == place for pair in pairs]
                if some := piece.chosen(which, VALUE_FIELDS):
                    return next(captures_of_columns(some))
    return None


def source_codes(db: sqlite3.Connection, names: Iterable[str]) -> dict[str, int]:
    """Return the codes of the known files among `names` (`collection/name`)."""
    command = "SELECT code FROM sources WHERE collection = ? AND name = ?"
    rows = {
        full: db.execute(command, (collection, name)).fetchone()
        for full in names
        for collection, _, name in [full.partition("/")]
    }
    return {full: row[0] for full, row in rows.items() if row}


_MARK = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18})@(\[.*\]))?", re.S)


class _Mark(NamedTuple):
    done: int
    until: int
    place: CdxPlace = START


def last_batch(db: sqlite3.Connection) -> int:
    """Return the number of the last batch."""
    return count_rows(db, CAPTURE_NUMBERS)


def stored_since(
    db: sqlite3.Connection, mark: str, until: str, collection: str
) -> Iterator[tuple[Capture, str]]:
    """Yield captures, as `CaptureIndex.captures_since` does."""
    end = last_batch(db)
    last = _read(until, end).done if until else end
    begun = _read(mark or "0", end)
    if begun.place != START:
        yield from _within(db, begun._replace(until=min(begun.until, last)), collection)
    yield from _within(db, _Mark(begun.until, last), collection)


def _read(mark: str, end: int) -> _Mark:
    found = _MARK.fullmatch(mark)
    try:
        done, until, place = found.groups() if found else ("", "", "")
        known = _Mark(int(done), int(until or done), place_of_text(place) if place else START)
    except (ValueError, TypeError):
        known = _Mark(end + 1, end + 1)
    if known.until > end:
        raise StaleMarkError(
            f"the captures of the archive have no mark {mark[:40]!r}; begin from the first one"
        )
    return known


def _within(db: sqlite3.Connection, mark: _Mark, collection: str) -> Iterator[tuple[Capture, str]]:
    """Yield the captures of a range of batches after a place, in CDX order."""
    found = db.execute(
        "SELECT run FROM runs WHERE shown AND last_batch > ? AND first_batch <= ?", mark[:2]
    )
    runs = [run for (run,) in found]
    if not runs:
        return

    def wanted(piece: BlockColumns) -> Sequence[bool]:
        batches = map(int, piece["batch"])
        pairs = zip(batches, piece["collection"], strict=True)
        return [
            mark.done < batch <= mark.until and (not collection or name == collection)
            for batch, name in pairs
        ]

    for piece in captures_behind(
        db,
        mark.place,
        (*VALUE_FIELDS, "batch"),
        choose=wanted,
        runs=runs,
        behind_batch=mark.done,
    ):
        for capture, place in zip(captures_of_columns(piece), places_of(piece), strict=True):
            yield capture, f"{mark.done}-{mark.until}@{text_of_place(place)}"


FIRST_CAPTURES = 20
_LANGUAGES = """
SELECT id_start, value FROM documents
JOIN facet_values ON field = 'content_language' AND code = content_language WHERE value <> ''"""


def _has_keys(db: sqlite3.Connection, start: str) -> bool:
    end = start[:-1] + chr(ord(start[-1]) + 1)
    return any(True for _ in captures_between(db, (start, ""), (end, ""), ()))


class StoredCaptures(CaptureIndex):
    """The read methods of an engine for captures."""

    _folder: Folder

    @abstractmethod
    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Yield a connection that sees everything written, for short reads."""

    @abstractmethod
    def _streaming(self) -> AbstractContextManager[sqlite3.Connection]:
        """Yield a separate connection that sees everything written so far."""

    def captures(self, urlkey: str, end: str | None = None) -> Iterator[Capture]:
        last = f"{urlkey}\0" if end is None else end, ""
        with self._reading() as db, snapshot(db):
            first = list(islice(stored_captures(db, (urlkey, ""), last), cdx_rows.FIRST_ROWS))
        yield from first
        if len(first) == cdx_rows.FIRST_ROWS:
            place = _place(first[-1])
            with self._streaming() as db, snapshot(db):
                found = stored_captures(db, place[:2], last)
                yield from dropwhile(lambda one: _place(one) <= place, found)

    def capture_columns(self, fields: Sequence[str]) -> Iterator[CaptureColumns]:
        """Yield some fields of all captures by column, as texts, from the stored blocks."""
        held: dict[str, list[str]] = {name: [] for name in fields}
        with self._streaming() as db, snapshot(db):
            for piece in captures_between(db, BEGINNING, END, fields):
                for name, values in held.items():
                    values += piece[name]
                if len(held[fields[0]]) >= COLUMN_ROWS:
                    yield dict(held)
                    held = {name: [] for name in fields}
            if held[fields[0]]:
                yield dict(held)

    def document_languages(self) -> Iterator[tuple[int, str]]:
        """Yield the starts of ids and the languages of documents, from SQLite, without a search."""
        with self._streaming() as db, snapshot(db):
            yield from db.execute(_LANGUAGES)

    def captures_of_digest(self, digest: str, urlkey: str = "") -> Iterator[Capture]:
        with self._reading() as db, snapshot(db):
            first = list(islice(captures_with_digest(db, digest, urlkey), FIRST_CAPTURES))
        yield from first
        if len(first) == FIRST_CAPTURES:
            known = set(first)  # others may have been written or deleted meanwhile
            with self._streaming() as db, snapshot(db):
                found = captures_with_digest(db, digest, urlkey)
                yield from (one for one in found if one not in known)

    def statuses(
        self, urlkeys: Sequence[str], hides: Callable[[Capture], bool] | None = None
    ) -> dict[str, int]:
        opened = self._streaming if hides else self._reading  # rules take long for many captures
        with opened() as db, snapshot(db):
            return url_statuses(db, urlkeys, hides)

    def captures_near(self, asked: "Sequence[KeysAtTime]", most: int) -> list[list[Capture]]:
        with self._reading() as db, snapshot(db):
            return url_captures_near(db, asked, most)

    def has_keys(self, starts: Sequence[str]) -> bool:
        with self._reading() as db, snapshot(db):
            return any(_has_keys(db, start) for start in starts)

    def cdx_rows(self, span: "CdxSpan") -> "Iterator[CdxRow]":
        with self._reading() as db, snapshot(db):
            first = list(islice(cdx_rows.rows_of(db, span), cdx_rows.FIRST_ROWS))
        yield from first
        if len(first) == cdx_rows.FIRST_ROWS:
            with self._streaming() as db, snapshot(db):
                yield from cdx_rows.rows_behind(db, span, first[-1])

    def cdx_blocks(self, span: "CdxSpan", form: "CdxLineForm") -> "Iterable[CdxBlock] | None":
        """Return the captures of a span as lines, None for a span with the newest first."""
        return cdx_rows.line_blocks(self._reading, self._streaming, span, form)

    def cdx_marks(self, span: "CdxSpan", every: int) -> Iterator[str]:
        with self._streaming() as db, snapshot(db):
            yield from cdx_rows.marks(db, span, every)

    def collections(self) -> list[str]:
        with self._reading() as db:
            return cdx_rows.collections(db)

    def capture_mark(self) -> str:
        if not self._folder.exists():
            return ""
        with self._reading() as db:
            return str(last_batch(db))

    def captures_since(
        self, mark: str, until: str = "", collection: str = ""
    ) -> Iterator[tuple[Capture, str]]:
        with self._streaming() as db, snapshot(db):
            yield from stored_since(db, mark, until, collection)
