"""The captures of an archive in a folder, looked up."""

import sqlite3
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import chain, islice
from typing import TYPE_CHECKING

from nwx.captures import CaptureColumns
from nwx.engine.capture_index import COLUMN_ROWS, KeysAtTime, nearest_captures
from nwx.engine.embedded.captures import cdx_rows
from nwx.engine.embedded.captures.blocks import BEGINNING, END
from nwx.engine.embedded.captures.capture_lookups import captures_with_digest, stored_captures
from nwx.engine.embedded.captures.runs import captures_between, snapshot
from nwx.engine.embedded.captures.stored_since import last_batch, stored_since
from nwx.engine.embedded.folder import Folder
from nwx.model import Capture

if TYPE_CHECKING:
    from nwx.cdx.rows import CdxRow
    from nwx.engine.capture_index import CdxBlock, CdxLineForm, CdxSpan


FIRST_CAPTURES = 20
_LANGUAGES = """
SELECT id_start, value FROM documents
JOIN facet_values ON field = 'content_language' AND code = content_language WHERE value <> ''"""


def _near_captures(db: sqlite3.Connection, asked: KeysAtTime, most: int) -> list[Capture]:
    """Return captures, as `Engine.captures_near` does."""
    found: list[Capture] = []
    for urlkey in asked.urlkeys:
        middle = (urlkey, asked.timestamp)
        behind = stored_captures(db, middle, (f"{urlkey}\0", ""))
        before = stored_captures(db, (urlkey, ""), middle, newest_first=True)
        found += chain(islice(behind, most), islice(before, most))
    return nearest_captures(found, asked.timestamp, most)


def _lowest_status(db: sqlite3.Connection, urlkey: str) -> int | None:
    pieces = captures_between(db, (urlkey, ""), (f"{urlkey}\0", ""), ("status_code",))
    return min((int(one or 0) for piece in pieces for one in piece["status_code"]), default=None)


def _has_keys(db: sqlite3.Connection, start: str) -> bool:
    end = start[:-1] + chr(ord(start[-1]) + 1)
    return any(True for _ in captures_between(db, (start, ""), (end, ""), ()))


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
        with self._streaming() as db, snapshot(db):
            yield from stored_captures(
                db, (urlkey, ""), (f"{urlkey}\0" if end is None else end, "")
            )

    def capture_columns(self, fields: Sequence[str]) -> Iterator[CaptureColumns]:
        """Stream some fields of all captures by column, as texts, out of the stored blocks."""
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
        """Stream the languages of documents, of the columns instead of the hits of a search."""
        with self._streaming() as db, snapshot(db):
            yield from db.execute(_LANGUAGES)

    def captures_of_digest(self, digest: str, urlkey: str = "") -> Iterator[Capture]:
        """Stream the captures that hold a payload of this digest, the newest first."""
        with self._reading() as db, snapshot(db):
            first = list(islice(captures_with_digest(db, digest, urlkey), FIRST_CAPTURES))
        yield from first
        if len(first) == FIRST_CAPTURES:
            with self._streaming() as db, snapshot(db):
                yield from islice(captures_with_digest(db, digest, urlkey), FIRST_CAPTURES, None)

    def statuses(self, urlkeys: Sequence[str]) -> dict[str, int]:
        """Return the lowest status code of the captures of each of these urlkeys that has any."""
        with self._reading() as db, snapshot(db):
            found = ((urlkey, _lowest_status(db, urlkey)) for urlkey in urlkeys)
            return {urlkey: status for urlkey, status in found if status is not None}

    def captures_near(self, asked: "Sequence[KeysAtTime]", most: int) -> list[list[Capture]]:
        """Return for each of the questions the captures of its urlkeys, nearest in time first."""
        with self._reading() as db, snapshot(db):
            return [_near_captures(db, one, most) for one in asked]

    def has_keys(self, starts: Sequence[str]) -> bool:
        """Return whether any capture has a urlkey that begins with one of these texts."""
        with self._reading() as db, snapshot(db):
            return any(_has_keys(db, start) for start in starts)

    def cdx_rows(self, span: "CdxSpan") -> "Iterator[CdxRow]":
        """Stream the captures of a span as rows of a CDX, in its order."""
        with self._reading() as db, snapshot(db):
            first = list(islice(cdx_rows.rows_of(db, span), cdx_rows.FIRST_ROWS))
        yield from first
        if len(first) == cdx_rows.FIRST_ROWS:
            with self._streaming() as db, snapshot(db):
                yield from cdx_rows.rows_behind(db, span, first[-1])

    def cdx_blocks(self, span: "CdxSpan", form: "CdxLineForm") -> "Iterable[CdxBlock] | None":
        """Stream the captures of a span as lines, None for those with the newest first."""
        return cdx_rows.line_blocks(self._reading, self._streaming, span, form)

    def cdx_marks(self, span: "CdxSpan", every: int) -> Iterator[str]:
        """Stream the positions of the first of every `every` captures of a span."""
        with self._streaming() as db, snapshot(db):
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
            return str(last_batch(db))

    def captures_since(
        self, mark: str, until: str = "", collection: str = ""
    ) -> Iterator[tuple[Capture, str]]:
        """Stream the captures stored after a mark, each with the mark after it."""
        with self._streaming() as db, snapshot(db):
            yield from stored_since(db, mark, until, collection)
