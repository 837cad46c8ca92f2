"""Captures without documents, straight into SQLite: tantivy has no part in them."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from typing import Protocol

from nwx.bulk.process_limits import rare_collections
from nwx.captures import values_of
from nwx.engine.embedded.captures.inserts import last_capture_number
from nwx.engine.embedded.database import add_missing, connect, fill_lookup_tables
from nwx.engine.embedded.folder import Folder, bring_forward
from nwx.engine.embedded.registry import Registry
from nwx.model import Capture, IndexName

_AT_ONCE = 1_000
_SHORT_LOG_BYTES = 4 << 20
_LONG_LOG_BYTES = 256 << 20
_LOG_WAIT_SECONDS = 10.0
_RUN = 500_000
"""So many captures are entered into the tables for look-ups at a time, in their order."""


class Loader:
    """Holds the lock of an archive to load or unload captures, until unlocked.

    Closed afterwards, which takes a while after a large load. Each call is one transaction: readers
    see all of it or nothing.
    """

    def __init__(self, folder: Folder, wait_seconds: float) -> None:
        self._folder = folder
        self._lock = folder.lock(wait_seconds)
        try:
            with folder.our_errors():
                folder.check(writing=True)
                self._db = connect(folder.database, read_only=False)
                bring_forward(folder, self._db)
                add_missing(self._db)
                self._db.execute("PRAGMA wal_autocheckpoint = 0")  # done by `close`
                # What is mapped would be the most of the memory, and is no faster to write to.
                self._db.execute("PRAGMA mmap_size = 0")
                self._shorten_log()
        except BaseException:
            os.close(self._lock)
            raise

    def load(self, batches: Iterable[Sequence[Capture]]) -> int:
        """Add captures; return how many were new."""
        with self._transaction() as registry, rare_collections():
            new = unlisted = 0
            last = last_capture_number(self._db)
            for batch in batches:
                unlisted += registry.add_unlisted(values_of(batch))
                if unlisted >= _RUN:
                    fill_lookup_tables(self._db, last)
                    last = last_capture_number(self._db)
                    new, unlisted = new + unlisted, 0
            fill_lookup_tables(self._db, last)
            return new + unlisted

    def unload(self, ids: Iterable[str]) -> int:
        """Delete captures; return how many there were."""
        remaining = iter(ids)
        deleted = 0
        with self._transaction() as registry:
            while batch := list(islice(remaining, _AT_ONCE)):
                deleted += registry.delete(IndexName.CAPTURES, batch)
        return deleted

    def unlock(self) -> bool:
        """Release the lock, so that others may write; return whether `close` takes a while."""
        os.close(self._lock)
        return self._log_bytes() > _SHORT_LOG_BYTES

    def close(self) -> None:
        """Checkpoint the log into the database, as far as nobody else needs the log."""
        # What was committed is safe in the log, which the next writer brings in otherwise.
        with suppress(sqlite3.Error):
            self._db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        self._db.close()

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


class EndingLoad(Protocol):
    """A load that has stored all it has to store."""

    def unlock(self) -> bool:
        """Let others write; return whether closing takes a while."""

    def close(self) -> None:
        """Bring the log into the database."""


class EndedLoads:
    """Finished loads of an archive whose logs threads are merging into its database.

    A new load waits for earlier ones: a log that many loads append to while it is read would never
    restart.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._threads: list[threading.Thread] = []

    def end(self, load: EndingLoad) -> None:
        """Unlock an archive at once, and close its loader, in a thread if that takes a while."""
        if not load.unlock():
            load.close()
            return
        thread = threading.Thread(target=load.close, name="ended-load")
        with self._guard:
            self._threads.append(thread)
        thread.start()

    def wait(self) -> None:
        """Wait until all are closed."""
        with self._guard:
            threads, self._threads = self._threads, []
        for thread in threads:
            thread.join()
