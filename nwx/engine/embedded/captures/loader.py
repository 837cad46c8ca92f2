"""Loading of captures without documents, directly into SQLite, without tantivy."""

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
"""The approximate bytes written by one step of a load, and the limit of uncommitted bytes."""
_LOG_WAIT_SECONDS = 10.0
_MERGE_WAIT_SECONDS = 10.0
_LOADS_AT_ONCE = 2
"""The number of loads of a process with captures in memory: one stores while another reads."""


class Merging(Enum):
    """Whether runs of captures need merging: no, later (DUE), or before more are stored (LATE)."""

    NONE, DUE, LATE = range(3)


class Loader:
    """Holds the lock of an archive to load or unload captures, until unlocked.

    Close it afterwards, which takes a while after a large load. Readers see all of a call or
    nothing.
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
                # A mapping would take most of the memory, and writing to it is no faster.
                self._db.execute("PRAGMA mmap_size = 0")
                self._shorten_log()
        except BaseException:
            os.close(self._lock)
            raise

    def load(self, chunks: "Iterable[IncomingCaptures]") -> int:
        """Add captures; return how many were new.

        Many are stored in several steps, and shown to readers together at the end.
        """
        # Imported here: deleting and reading captures does not need NumPy.
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
                    del captures  # frees memory before others are read
                for _ in adder.put_in_order():
                    self._pause()
                new = adder.finish()
                merge_few(self._db)
                if runs_to_merge(self._db):
                    is_late = len(shown_runs(self._db)) > 2 * MOST
                    self.merging = Merging.LATE if is_late else Merging.DUE
                return new
        except BaseException:
            with suppress(sqlite3.Error):  # else the next writer does it
                drop_unfinished(self._db, merging=self._folder.is_merging())
            raise

    def _pause(self) -> None:
        """Commit hidden captures once they are many, so that the database's log stays short."""
        self._steps += 1
        size = self._folder.database.stat().st_size
        if self._steps * _STEP_BYTES < min(size // 8, _MOST_HELD_BYTES):
            return
        self._steps = 0
        self._db.execute("COMMIT")
        self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._db.execute("BEGIN IMMEDIATE")

    def unload(self, ids: Iterable[str]) -> int:
        """Delete captures; return the number deleted."""
        deleted = 0
        with self._transaction() as registry:
            for batch in batches(ids, _AT_ONCE):
                deleted += registry.delete(IndexName.CAPTURES, batch)
        return deleted

    def count(self) -> int:
        """Return the number of captures."""
        return count_rows(self._db, IndexName.CAPTURES)

    def unlock(self) -> bool:
        """Release the lock for other writers; return whether `close` takes a while."""
        os.close(self._lock)
        return self._log_bytes() > _SHORT_LOG_BYTES

    def close(self) -> None:
        """Checkpoint the log as far as no other connection needs it."""
        # Committed data is safe in the log; else the next writer checkpoints it.
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._db.close()

    def merge(self) -> None:
        """Run long merges of captures, letting others write in between."""
        from nwx.engine.embedded.captures.merges import merge_many

        # All captures are stored; else the next writer merges them.
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
        """Checkpoint a long log before a load.

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
    """Migrate a folder of an older format; return what was done since it was opened.

    `write` opens it for writing texts, which migrates the documents index.
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
"""A loader, and the captures to load."""


class EndingLoad(Protocol):
    """A load that has stored all its captures."""

    merging: Merging

    def unlock(self) -> bool:
        """Release the lock; return whether `close` takes a while."""

    def close(self) -> None:
        """Checkpoint the log."""

    def merge(self) -> None:
        """Merge the stored captures with earlier ones."""


class EndedLoads:
    """Finished loads of an archive; threads checkpoint their logs and merge their captures.

    A new load waits for the checkpoints: a log that many loads append to while it is read would
    never restart.
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
        """Yield the captures to store; the first are prepared before, while another load stores."""
        if not batches:
            yield iter(())
            return
        # Imported here: deleting captures does not need NumPy.
        from nwx.engine.embedded.captures.cdx_order import incoming_captures

        with self._few, rare_collections():
            chunks = incoming_captures(batches)
            first = next(chunks, None)
            read = chain(() if first is None else [first], chunks)
            del first  # else kept until all others are loaded
            yield read

    def end(self, load: EndingLoad) -> None:
        """Unlock an archive at once; long work is done in threads, unless merges are late.

        Late merges are done before returning, so that callers wait before they store more.
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
        """Wait until all loads are closed."""
        self._join(self._closing)

    def finish(self) -> None:
        """Wait until all loads are closed and merged."""
        self._join(self._closing)
        self._join(self._merging)

    def _join(self, threads: list[threading.Thread]) -> None:
        with self._guard:
            joined = list(threads)
        for thread in joined:
            thread.join()
