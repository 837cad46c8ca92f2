"""The captures of an archive in a folder, looked up."""

import sqlite3
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from nwx.engine.embedded import reader
from nwx.engine.embedded.captures import by_digest, cdx_lines, cdx_rows, stored_since
from nwx.engine.embedded.captures.near import has_keys, near_captures
from nwx.engine.embedded.captures.statuses import lowest_statuses
from nwx.engine.embedded.folder import Folder
from nwx.model import Capture

if TYPE_CHECKING:
    from nwx.cdx.rows import CdxRow
    from nwx.engine.spans import CdxBlock, CdxLineForm, CdxSpan, KeysAtTime


class StoredCaptures:
    """What an engine reads of its captures."""

    _folder: Folder

    @abstractmethod
    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Give a connection that knows what was written, for a short answer."""

    @abstractmethod
    def _streaming(self) -> AbstractContextManager[sqlite3.Connection]:
        """Give a connection of its own, which knows what was written until now."""

    def captures(self, urlkey: str, end: str | None = None) -> Iterator[Capture]:
        """Stream captures in the order of urlkey, timestamp, file and offset."""
        with self._streaming() as db:
            yield from reader.stored_captures(db, urlkey, end)

    def captures_by_digest(self, digest: str, urlkey: str = "") -> Iterator[Capture]:
        """Stream the captures that hold a payload of this digest, the newest first."""
        with self._reading() as db:
            first = by_digest.first_captures(db, digest, urlkey)
        yield from first
        if len(first) == by_digest.FIRST_CAPTURES:
            with self._streaming() as db:
                yield from by_digest.further_captures(db, digest, urlkey)

    def statuses(self, urlkeys: Sequence[str]) -> dict[str, int]:
        """Return the lowest status code of the captures of each of these urlkeys that has any."""
        with self._reading() as db:
            return lowest_statuses(db, urlkeys)

    def captures_near(self, asked: "Sequence[KeysAtTime]", most: int) -> list[list[Capture]]:
        """Return for each of the questions the captures of its urlkeys, nearest in time first."""
        with self._reading() as db:
            return near_captures(db, asked, most)

    def has_keys(self, starts: Sequence[str]) -> bool:
        """Tell whether any capture has a urlkey that begins with one of these texts."""
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
        return cdx_lines.line_blocks(self._reading, self._streaming, span, form)

    def cdx_marks(self, span: "CdxSpan", every: int) -> Iterator[str]:
        """Stream the places of the first of every so many captures of a span."""
        with self._streaming() as db:
            yield from cdx_rows.marks(db, span, every)

    def collections(self) -> list[str]:
        """Return the names of the collections that have had captures, in order."""
        with self._reading() as db:
            return cdx_rows.collections(db)

    def capture_mark(self) -> str:
        """Return the mark behind all captures that are stored until now."""
        if not self._folder.exists():
            return ""
        with self._reading() as db:
            return stored_since.capture_mark(db)

    def captures_since(
        self, mark: str, until: str = "", collection: str = ""
    ) -> Iterator[tuple[Capture, str]]:
        """Stream the captures stored after a mark, each with the mark behind it."""
        with self._streaming() as db:
            yield from stored_since.captures_since(db, mark, until, collection)
