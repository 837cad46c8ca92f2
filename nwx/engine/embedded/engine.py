"""An archive in a folder."""

import sqlite3
import threading
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from nwx.engine.base import Engine, SearchRequest
from nwx.engine.embedded import reading, searching
from nwx.engine.embedded.database import connect
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.view import Viewer
from nwx.engine.embedded.writing import Writer
from nwx.errors import EngineError
from nwx.model import (
    Batch,
    Capture,
    Dates,
    Document,
    Hit,
    IndexName,
    IndexStats,
    SearchResult,
    SourceFile,
    Written,
)

_APPEND_WAIT_SECONDS = 10.0


class EmbeddedEngine(Engine):
    """The archive in a folder; threads may share it.

    `create`, or the first write, takes the place of the one writer, which
    is kept until `close`. Several writes make one commit: what is written
    can be searched, and is safe, after `refresh` or `close`, or a while
    later. With `read_only` nothing is ever written.
    """

    def __init__(self, path: Path, *, read_only: bool = False) -> None:
        self.address = str(path)
        self._folder = Folder(path)
        self._read_only = read_only
        self._guard = threading.RLock()
        self._viewer = Viewer(self._folder)
        self._writer: Writer | None = None
        if read_only:
            self._folder.check()

    def create(self) -> None:
        self._writing()

    def write(self, batch: Batch) -> Written:
        return self._writing().write(batch)

    def known(self, ids: Collection[str]) -> dict[str, int]:
        with self._reading() as db:
            return reading.known(db, ids)

    def documents(self, ids: Sequence[str]) -> dict[str, Document]:
        with self._reading() as db:
            nums = reading.nums(db, ids)
        self._commit()
        view = self._viewer.view()
        with self._folder.our_errors():
            return reading.documents(view.searcher, nums)

    def dates(self, ids: Sequence[str]) -> dict[str, Dates]:
        with self._reading() as db:
            return reading.dates(db, ids)

    def captures(self, urlkey: str, end: str | None = None) -> Iterator[Capture]:
        with self._streaming() as db:
            yield from reading.captures(db, urlkey, end)

    def append_dates(self, dates: Sequence[Dates]) -> int:
        with self._guard:
            if self._writer is not None or self._read_only:
                return self._writing().append_dates(dates)
            with closing(Writer(self._folder, _APPEND_WAIT_SECONDS)) as writer:
                return writer.append_dates(dates)

    def search(self, request: SearchRequest) -> SearchResult:
        view = self._viewer.view()
        with self._folder.our_errors():
            return searching.search(view, request)

    def scroll(self, request: SearchRequest) -> Iterator[Hit]:
        view = self._viewer.view()
        with self._folder.our_errors():
            yield from searching.scroll(view, request)

    def count(self, index: IndexName) -> int:
        with self._reading() as db:
            return reading.entries(db, index)

    def scan(self, index: IndexName) -> Iterator[Mapping[str, Any]]:
        with self._streaming() as db:
            if index is IndexName.DOCUMENTS:
                yield from reading.document_entries(db, self._viewer.view().searcher)
            else:
                yield from reading.entries_of(db, index)

    def delete(self, index: IndexName, ids: Collection[str]) -> int:
        return self._writing().delete(index, ids)

    def files(self) -> list[SourceFile]:
        with self._reading() as db:
            return reading.files(db)

    def stats(self) -> dict[IndexName, IndexStats]:
        self._commit()
        with self._reading() as db:
            return {
                index: IndexStats(
                    reading.entries(db, index), reading.stored_bytes(db, self._folder, index)
                )
                for index in IndexName
            }

    def refresh(self) -> None:
        self._commit()

    def close(self) -> None:
        with self._guard:
            writer, self._writer = self._writer, None
            try:
                if writer is not None:
                    writer.close()
            finally:
                self._viewer.close()

    def _writing(self) -> Writer:
        """Return the writer, made when it is first needed."""
        with self._guard:
            if self._read_only:
                raise EngineError(f"the archive at {self.address} was opened for reading only")
            if self._writer is None:
                self._writer = Writer(self._folder)
            return self._writer

    def _commit(self) -> None:
        with self._guard:
            if self._writer is not None:
                self._writer.commit()

    @contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        """Give a connection that knows what was written, committed or not."""
        writer = self._writer
        if writer is None:
            with self._viewer.connection() as db, self._folder.our_errors():
                yield db
        else:
            with writer.guard, self._folder.our_errors():
                yield writer.db

    @contextmanager
    def _streaming(self) -> Iterator[sqlite3.Connection]:
        """Give a connection of its own, which knows what was written until now."""
        self._commit()
        self._folder.check()
        with (
            self._folder.our_errors(),
            closing(connect(self._folder.database, read_only=True)) as db,
        ):
            yield db
