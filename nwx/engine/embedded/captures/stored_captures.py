"""The captures of an archive in a folder, looked up."""

import json
import sqlite3
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from nwx.captures import capture_of_values
from nwx.engine.capture_index import KeysAtTime, nearest_captures
from nwx.engine.embedded import reader
from nwx.engine.embedded.captures import cdx_rows
from nwx.engine.embedded.captures.inserts import last_capture_number
from nwx.engine.embedded.database import ENDING_OF_DIGEST
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.reader import SELECT_CAPTURES, SELECT_IN_ORDER, SELECTED
from nwx.errors import StaleMarkError
from nwx.model import Capture

if TYPE_CHECKING:
    from nwx.cdx.rows import CdxRow
    from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan, KeysAtTime


FIRST_CAPTURES = 20

_OF_ANY_URL = (
    f"{SELECTED} FROM digests CROSS JOIN captures USING (num)"
    " CROSS JOIN sources ON sources.code = source"
    f" WHERE ending = {ENDING_OF_DIGEST} AND digest = :digest"
    " ORDER BY time DESC, name, source_file_offset, collection"
)
_OF_A_URL = (
    f"{SELECT_IN_ORDER} WHERE urlkey = :urlkey AND digest = :digest AND record_type <> 'revisit'"
    " ORDER BY timestamp DESC, name, source_file_offset, collection"
)


def first_captures(db: sqlite3.Connection, digest: str, urlkey: str) -> list[Capture]:
    """Return the first FIRST of `Engine.captures_by_digest`, which are all of most digests."""
    rows = db.execute(
        f"{_question(urlkey)} LIMIT {FIRST_CAPTURES}", {"digest": digest, "urlkey": urlkey}
    )
    return [capture_of_values(row) for row in rows]


def further_captures(db: sqlite3.Connection, digest: str, urlkey: str) -> Iterator[Capture]:
    """Stream the captures after the first."""
    rows = db.execute(
        f"{_question(urlkey)} LIMIT -1 OFFSET {FIRST_CAPTURES}",
        {"digest": digest, "urlkey": urlkey},
    )
    return map(capture_of_values, rows)


def _question(urlkey: str) -> str:
    return _OF_A_URL if urlkey else _OF_ANY_URL


# A few of each urlkey by the index, however many captures it has.
_SIDE = (
    "SELECT num FROM cdx_lines WHERE urlkey = keys.value AND timestamp {0} :timestamp"
    " ORDER BY timestamp {1} LIMIT :most"
)
_NEAR = (
    f"{SELECT_CAPTURES} WHERE num IN (SELECT near.num FROM json_each(:urlkeys) AS keys"
    " JOIN captures AS near ON near.num IN ({})) "
)
_SIDES = tuple(_NEAR.format(_SIDE.format(*side)) for side in ((">=", "ASC"), ("<", "DESC")))
_HAS_KEY = "SELECT 1 FROM cdx_lines WHERE urlkey >= ? AND urlkey < ? LIMIT 1"


def near_captures(
    db: sqlite3.Connection, asked: Sequence[KeysAtTime], most: int
) -> list[list[Capture]]:
    """Return captures, as `Engine.captures_near` does."""
    return [nearest_captures(_sides(db, one, most), one.timestamp, most) for one in asked]


def _sides(db: sqlite3.Connection, asked: KeysAtTime, most: int) -> list[Capture]:
    values = {
        "urlkeys": json.dumps(asked.urlkeys),
        "timestamp": asked.timestamp,
        "most": most,
    }
    return [capture_of_values(row) for side in _SIDES for row in db.execute(side, values)]


def has_keys(db: sqlite3.Connection, starts: Sequence[str]) -> bool:
    """Return whether any urlkey has one of these prefixes, as `Engine.has_keys` does."""
    return any(
        db.execute(_HAS_KEY, (start, start[:-1] + chr(ord(start[-1]) + 1))).fetchone()
        for start in starts
    )


_AT_ONCE = 1_000
_LOWEST = (
    "SELECT urlkey, min(coalesce(status_code, 0))"
    " FROM cdx_lines CROSS JOIN captures USING (num, urlkey, timestamp)"
    " WHERE urlkey IN (SELECT value FROM json_each(?)) GROUP BY urlkey"
)


def lowest_statuses(db: sqlite3.Connection, urlkeys: Sequence[str]) -> dict[str, int]:
    """Return the lowest status by urlkey, as `Engine.statuses` does."""
    found: dict[str, int] = {}
    for begin in range(0, len(urlkeys), _AT_ONCE):
        some = json.dumps(urlkeys[begin : begin + _AT_ONCE])
        found.update(db.execute(_LOWEST, (some,)).fetchall())
    return found


_NUMBERED = SELECT_CAPTURES.replace("SELECT ", "SELECT num, ", 1)


def capture_mark(db: sqlite3.Connection) -> str:
    """Return the mark after all captures."""
    return str(last_capture_number(db))


def captures_since(
    db: sqlite3.Connection, mark: str, until: str, collection: str
) -> Iterator[tuple[Capture, str]]:
    """Stream captures, as `CaptureIndex.captures_since` does."""
    end = last_capture_number(db)
    first, last = _number(mark or "0", end), _number(until or str(end), end)
    where = "num > ? AND num <= ?" + (" AND collection = ?" if collection else "")
    values = (first, last, *([collection] if collection else []))
    # CROSS JOIN keeps the order of numbers, so that nothing is sorted first.
    select = _NUMBERED.replace(" JOIN ", " CROSS JOIN ")
    for num, *row in db.execute(f"{select} WHERE {where} ORDER BY num", values):
        yield capture_of_values(tuple(row)), str(num)


def _number(mark: str, end: int) -> int:
    if not (mark.isascii() and mark.isdigit()) or int(mark) > end:
        raise StaleMarkError(
            f"the captures of the archive have no mark {mark[:40]!r}; begin from the first one"
        )
    return int(mark)


class StoredCaptures:
    """The read methods of an engine for captures."""

    _folder: Folder

    @abstractmethod
    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Yield a connection that sees everything written, for a short answer."""

    @abstractmethod
    def _streaming(self) -> AbstractContextManager[sqlite3.Connection]:
        """Yield a separate connection that sees everything written so far."""

    def captures(self, urlkey: str, end: str | None = None) -> Iterator[Capture]:
        """Stream captures in the order of urlkey, timestamp, file and offset."""
        with self._streaming() as db:
            yield from reader.stored_captures(db, urlkey, end)

    def captures_by_digest(self, digest: str, urlkey: str = "") -> Iterator[Capture]:
        """Stream the captures that hold a payload of this digest, the newest first."""
        with self._reading() as db:
            first = first_captures(db, digest, urlkey)
        yield from first
        if len(first) == FIRST_CAPTURES:
            with self._streaming() as db:
                yield from further_captures(db, digest, urlkey)

    def statuses(self, urlkeys: Sequence[str]) -> dict[str, int]:
        """Return the lowest status code of the captures of each of these urlkeys that has any."""
        with self._reading() as db:
            return lowest_statuses(db, urlkeys)

    def captures_near(self, asked: "Sequence[KeysAtTime]", most: int) -> list[list[Capture]]:
        """Return for each of the questions the captures of its urlkeys, nearest in time first."""
        with self._reading() as db:
            return near_captures(db, asked, most)

    def has_keys(self, starts: Sequence[str]) -> bool:
        """Return whether any capture has a urlkey that begins with one of these texts."""
        with self._reading() as db:
            return has_keys(db, starts)

    def cdx_rows(self, span: "CdxSpan") -> "Iterator[CdxRow]":
        """Stream the captures of a span as rows of a CDX, in its order."""
        with self._reading() as db:
            first = cdx_rows.first_rows(db, span)
        yield from first
        if len(first) == cdx_rows.FIRST_ROWS:
            with self._streaming() as db:
                yield from cdx_rows.rows_behind(db, span, first[-1])

    def cdx_blocks(self, span: "CdxSpan", form: "CdxLineForm") -> "Iterator[CdxBlock] | None":
        """Stream the captures of a span as lines, None for those with the newest first."""
        return cdx_rows.line_blocks(self._reading, self._streaming, span, form)

    def cdx_marks(self, span: "CdxSpan", every: int) -> Iterator[str]:
        """Stream the positions of the first of every `every` captures of a span."""
        with self._streaming() as db:
            yield from cdx_rows.marks(db, span, every)

    def collections(self) -> list[str]:
        """Return the names of the collections that have had captures, in order."""
        with self._reading() as db:
            return cdx_rows.collections(db)

    def capture_mark(self) -> str:
        """Return the mark after all captures stored so far."""
        if not self._folder.exists():
            return ""
        with self._reading() as db:
            return capture_mark(db)

    def captures_since(
        self, mark: str, until: str = "", collection: str = ""
    ) -> Iterator[tuple[Capture, str]]:
        """Stream the captures stored after a mark, each with the mark after it."""
        with self._streaming() as db:
            yield from captures_since(db, mark, until, collection)
