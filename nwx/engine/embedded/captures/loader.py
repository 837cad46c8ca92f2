"""Captures without documents, straight into SQLite: tantivy has no part in them."""

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from enum import Enum
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from nwx.bulk.process_limits import rare_collections
from nwx.bulk.progress import batches
from nwx.engine.capabilities import Upgrade
from nwx.engine.embedded.captures.runs import drop_unfinished, shown_runs
from nwx.engine.embedded.database import add_missing, connect, count_rows
from nwx.engine.embedded.folder import FORMAT, READABLE_FORMAT, Folder, bring_forward
from nwx.engine.embedded.registry import Registry
from nwx.model import Capture, IndexName

if TYPE_CHECKING:
    from nwx.engine.embedded.captures.cdx_order import IncomingCaptures

_AT_ONCE = 1_000
_SHORT_LOG_BYTES = 4 << 20
_LONG_LOG_BYTES = 256 << 20
_STEP_BYTES, _MOST_HELD_BYTES = 2 << 20, 16 << 20
"""About what a step of a load writes, and how much is not committed at most."""
_LOG_WAIT_SECONDS = 10.0
_MERGE_WAIT_SECONDS = 10.0
_LOADS_AT_ONCE = 2
"""So many loads of a process have captures in memory: one is stored while another is read."""


class Merging(Enum):
    """Whether runs of captures are to be merged: later, or before more are stored."""

    NONE, DUE, LATE = range(3)


class Loader:
    """Holds the lock of an archive to load or unload captures, until unlocked.

    Closed afterwards, which takes a while after a large load. Readers see all of a call or nothing.
    """

    def __init__(self, folder: Folder, wait_seconds: float) -> None:
        self._folder = folder
        self.merging = Merging.NONE
        self._steps = 0
        self._lock = folder.lock(wait_seconds)
        try:
            with folder.our_errors():
                folder.check(writing=True)
                self._db = connect(folder.database, read_only=False)
                bring_forward(folder, self._db)
                add_missing(self._db)
                drop_unfinished(self._db, merging=folder.is_merging())
                self._db.execute("PRAGMA wal_autocheckpoint = 0")  # done by `close`
                # What is mapped would be the most of the memory, and is no faster to write to.
                self._db.execute("PRAGMA mmap_size = 0")
                self._shorten_log()
        except BaseException:
            os.close(self._lock)
            raise

    def load(self, chunks: "Iterable[IncomingCaptures]") -> int:
        """Add captures; return how many were new.

        Many are stored some at a time, and shown together in the end.
        """
        # Imported here: whoever deletes captures, or reads them, does without NumPy.
        from nwx.engine.embedded.captures.capture_writer import CaptureAdder
        from nwx.engine.embedded.captures.merges import MOST, merge_few, runs_to_merge

        try:
            with self._transaction():
                adder = CaptureAdder(self._db)
                for captures in chunks:
                    if adder.has_added:
                        self._pause()
                    for _ in adder.add(captures):
                        self._pause()
                    del captures  # before others are read
                for _ in adder.put_in_order():
                    self._pause()
                new = adder.finish()
                merge_few(self._db)
                if runs_to_merge(self._db):
                    is_late = len(shown_runs(self._db)) > 2 * MOST
                    self.merging = Merging.LATE if is_late else Merging.DUE
                return new
        except BaseException:
            with suppress(sqlite3.Error):  # the next writer does it otherwise
                drop_unfinished(self._db, merging=self._folder.is_merging())
            raise

    def _pause(self) -> None:
        """Commit what is hidden yet if it is much, so that the log of the database stays short."""
        self._steps += 1
        size = self._folder.database.stat().st_size
        if self._steps * _STEP_BYTES < min(size // 8, _MOST_HELD_BYTES):
            return
        self._steps = 0
        self._db.execute("COMMIT")
        self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._db.execute("BEGIN IMMEDIATE")

    def unload(self, ids: Iterable[str]) -> int:
        """Delete captures; return how many there were."""
        deleted = 0
        with self._transaction() as registry:
            for batch in batches(ids, _AT_ONCE):
                deleted += registry.delete(IndexName.CAPTURES, batch)
        return deleted

    def count(self) -> int:
        """Return the number of captures."""
        return count_rows(self._db, IndexName.CAPTURES)

    def unlock(self) -> bool:
        """Release the lock, so that others may write; return whether `close` takes a while."""
        os.close(self._lock)
        return self._log_bytes() > _SHORT_LOG_BYTES

    def close(self) -> None:
        """Checkpoint the log as far as nobody else needs it."""
        # What was committed is safe in the log, which the next writer brings in otherwise.
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._db.close()

    def merge(self) -> None:
        """Merge the runs of captures that take long, and let others write in between."""
        from nwx.engine.embedded.captures.merges import merge_many

        # All captures are stored; the next writer merges them otherwise.
        with (
            suppress(sqlite3.Error),
            closing(connect(self._folder.database, read_only=False)) as db,
        ):
            wait_seconds = _MERGE_WAIT_SECONDS if self.merging is Merging.LATE else 0.0
            merge_many(self._folder, db, wait_seconds=wait_seconds)

    def _log_bytes(self) -> int:
        log = self._folder.database.with_name(f"{self._folder.database.name}-wal")
        return log.stat().st_size if log.exists() else 0

    def _shorten_log(self) -> None:
        """Checkpoint a long log first.

        Otherwise, if processes load one after another, each before the previous one closes, the log
        never restarts.
        """
        if self._log_bytes() <= _LONG_LOG_BYTES:
            return
        waited_to = time.monotonic() + _LOG_WAIT_SECONDS
        while time.monotonic() < waited_to:
            is_busy, *_ = self._db.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if not is_busy:
                return
            time.sleep(_LOG_WAIT_SECONDS / 1000)

    @contextmanager
    def _transaction(self) -> Iterator[Registry]:
        with self._folder.our_errors():
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield Registry(self._db)
                self._db.execute("COMMIT")
            except BaseException:
                _roll_back(self._db)
                raise


def _roll_back(db: sqlite3.Connection) -> None:
    if db.in_transaction:
        db.execute("ROLLBACK")


def upgrade_folder(folder: Folder, write: Callable[[], object] | None = None) -> Upgrade:
    """Bring a folder of an older format forward; return what was done since it was opened.

    `write` opens it for writing texts, which brings these forward.
    """
    folder.check(writing=True)
    if folder.format < FORMAT:
        older, size = folder.format, folder.database.stat().st_size
        loader = Loader(folder, 0.0)
        loader.unlock()
        packed = loader.count() if older < READABLE_FORMAT else 0
        loader.close()
        sizes = size, folder.database.stat().st_size
        folder.upgrade = Upgrade((older, FORMAT), packed, sizes)
    if write is not None:
        from nwx.engine.embedded.text_writer import has_older_index

        if has_older_index(folder.documents):
            write()
            folder.upgrade = replace(folder.upgrade, indices=(IndexName.DOCUMENTS,))
    return folder.upgrade


Loading = tuple[Loader, "Iterator[IncomingCaptures]"]
"""A loader, and the captures that it is to load."""


class EndingLoad(Protocol):
    """A load that has stored all it has to store."""

    merging: Merging

    def unlock(self) -> bool:
        """Let others write; return whether closing takes a while."""

    def close(self) -> None:
        """Bring the log into the database."""

    def merge(self) -> None:
        """Merge what it has stored with what was there."""


class EndedLoads:
    """Finished loads of an archive whose logs, and captures, threads bring into its database.

    A new load waits for the logs: one that many loads append to while it is read would never
    restart.
    """

    def __init__(self) -> None:
        self._few = threading.BoundedSemaphore(_LOADS_AT_ONCE)
        self._guard = threading.Lock()
        self._closing: list[threading.Thread] = []
        self._merging: list[threading.Thread] = []

    @contextmanager
    def incoming(
        self, batches: Iterable[Sequence[Capture]]
    ) -> "Iterator[Iterator[IncomingCaptures]]":
        """Give captures as they are stored; many are made ready before this, while others store."""
        if not batches:
            yield iter(())
            return
        # Imported here: whoever deletes captures does without NumPy.
        from nwx.engine.embedded.captures.cdx_order import incoming_captures

        with self._few, rare_collections():
            chunks = incoming_captures(batches)
            first = next(chunks, None)
            read = chain(() if first is None else [first], chunks)
            del first  # it would be kept until all others are loaded
            yield read

    def end(self, load: EndingLoad) -> None:
        """Unlock an archive at once; what takes a while is done in threads, unless merges are late.

        Then whoever stores more waits for them.
        """
        if load.unlock():
            self._start(self._closing, load.close)
        else:
            load.close()
        if load.merging is Merging.DUE:
            self._start(self._merging, load.merge)
        elif load.merging is Merging.LATE:
            load.merge()

    def _start(self, threads: list[threading.Thread], target: Callable[[], None]) -> None:
        thread = threading.Thread(target=target, name="ended-load")
        with self._guard:
            threads[:] = [one for one in threads if one.is_alive()]
            thread.start()
            threads.append(thread)

    def wait(self) -> None:
        """Wait until all are closed."""
        self._join(self._closing)

    def finish(self) -> None:
        """Wait until all are closed and merged."""
        self._join(self._closing)
        self._join(self._merging)

    def _join(self, threads: list[threading.Thread]) -> None:
        with self._guard:
            joined = list(threads)
        for thread in joined:
            thread.join()
