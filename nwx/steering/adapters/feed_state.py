"""The state of a Heritrix feed: leased URLs, and the position in the crawl log."""

import fcntl
import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from nwx.engine.sqlite_files import connect_sqlite, transaction
from nwx.errors import SourceError, UrlError
from nwx.values.crawl_log import LoggedFetch, logged_fetch
from nwx.values.urlkeys import urlkey

_MOST_BYTES = 4 << 20
_NAME = "crawl.log"


@dataclass(frozen=True, slots=True)
class LogPlace:
    """The position reached in a crawl log, identified by its inode as Heritrix renames it."""

    inode: int = 0
    offset: int = 0


def read_crawl_log(folder: Path, place: LogPlace) -> tuple[list[LoggedFetch], LogPlace]:
    """Return the lines added to the log in a folder since `place`, and the next place.

    At a checkpoint Heritrix renames crawl.log and begins another: the rest of the old one is read
    first, then the files renamed after it. An unfinished line is left for the next call. Reads at
    most 4 MB, and nothing without a log. Raises SourceError if the log cannot be read.
    """
    with SourceError.instead_of(OSError, f"{folder / _NAME} cannot be read"):
        paths = _logs_from(folder, place.inode)
        if not paths:
            return [], place
        found, following = _read(paths[0], place)
        if following == place and len(paths) > 1:
            return _read(paths[1], LogPlace())
        return found, following


def _logs_from(folder: Path, inode: int) -> list[Path]:
    """Return the logs in order, starting at the one with `inode` if it exists."""
    try:
        logs = [entry for entry in os.scandir(folder) if entry.name.startswith(_NAME)]
    except FileNotFoundError:
        return []
    named = {entry.name: entry.inode() for entry in logs if not entry.name.endswith(".lck")}
    # The names of renamed logs begin with the number of the checkpoint.
    ordered = sorted(named, key=lambda name: (name == _NAME, name))
    first = next((place for place, name in enumerate(ordered) if named[name] == inode), 0)
    return [folder / name for name in ordered[first:]]


def _read(path: Path, place: LogPlace) -> tuple[list[LoggedFetch], LogPlace]:
    with path.open("rb") as stream:
        inode = os.fstat(stream.fileno()).st_ino
        offset = place.offset if inode == place.inode else 0
        stream.seek(offset)
        data = stream.read(_MOST_BYTES)
    whole = data[: data.rfind(b"\n") + 1]
    return list(_fetches(whole)), LogPlace(inode, offset + len(whole))


def _fetches(data: bytes) -> Iterator[LoggedFetch]:
    """Yield the lines with the fetch of a URL; DNS lookups are skipped."""
    found = map(logged_fetch, data.decode("utf-8", "replace").split("\n"))
    return (fetch for fetch in found if fetch and "://" in fetch.url)


FILE_NAME = "nwx-feed.db"
LOCK_NAME = "nwx-feed.lock"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS scheduled (
  key BLOB PRIMARY KEY, url TEXT NOT NULL, via TEXT NOT NULL, lease TEXT NOT NULL,
  tries INTEGER NOT NULL, again INTEGER NOT NULL, number INTEGER NOT NULL,
  until REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS fetched (
  key BLOB PRIMARY KEY, hops TEXT NOT NULL, finished INTEGER NOT NULL) WITHOUT ROWID;
"""
_MOST_HOPS = 60


class ScheduledUrl(NamedTuple):
    """A URL given to Heritrix and not fetched yet.

    `tries` counts its leases, `again` is whether to fetch it although it was fetched before,
    `number` is that of the file it was given in, `until` is the end of its lease in seconds since
    1970.
    """

    key: bytes
    url: str
    via: str
    lease: str
    tries: int
    again: bool
    number: int
    until: float


class FetchedUrl(NamedTuple):
    """A URL fetched by Heritrix: its hops, and whether it is finished in the queue."""

    hops: str
    finished: bool


def url_identity(url: str) -> bytes:
    """Return a hash of scheme and urlkey, which identifies a URL about as Heritrix does.

    Heritrix fetches URLs that differ only in case, `www.` or a session id once, and escapes URLs
    in its log.
    """
    try:
        key = urlkey(url)
    except UrlError:
        key = url
    text = f"{url.partition(':')[0].lower()} {key}"
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class FeedState:
    """The URLs given to a job, the URLs it has fetched, and the position in its log."""

    def __init__(self, folder: Path) -> None:
        """Open the state of a job.

        Raises SourceError if it cannot be opened, or another feed has it open.
        """
        # No write-ahead log: it needs shared memory, which network file systems do not offer.
        self._path = folder / FILE_NAME
        self._lock = _locked(folder / LOCK_NAME)
        try:
            self._db = connect_sqlite(self._path)
            self._db.executescript(_SCHEMA)
        except sqlite3.Error as error:
            self._lock.close()
            raise SourceError(f"{self._path} cannot be used: {error}") from error

    def close(self) -> None:
        """Close the state."""
        self._db.close()
        self._lock.close()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Commit all changes of the block, or none."""
        with (
            SourceError.instead_of(sqlite3.Error, f"{self._path} cannot be used"),
            transaction(self._db),
        ):
            yield

    @property
    def launch(self) -> str:
        """The name of the launch that was fed last, "" if none."""
        return self._fact("launch")

    def set_launch(self, name: str) -> None:
        """Record which launch of the job is fed."""
        self._note("launch", name)

    @property
    def log_place(self) -> LogPlace:
        """The position reached in the log."""
        inode, _, offset = self._fact("log").partition(" ")
        return LogPlace(int(inode or 0), int(offset or 0))

    def set_log_place(self, place: LogPlace) -> None:
        """Record the position reached in the log."""
        self._note("log", f"{place.inode} {place.offset}")

    def next_number(self) -> int:
        """Return a number that no file of this job has."""
        number = int(self._fact("number") or 0) + 1
        self._note("number", str(number))
        return number

    def scheduled(self) -> list[ScheduledUrl]:
        """Return the URLs given and not fetched."""
        return [_scheduled(row) for row in self._db.execute("SELECT * FROM scheduled")]

    def open_count(self, now: float) -> int:
        """Return the number of URLs given and not fetched whose leases have not ended."""
        found = self._db.execute("SELECT count(*) FROM scheduled WHERE until > ?", (now,))
        return int(found.fetchone()[0])

    def scheduled_as(self, key: bytes) -> ScheduledUrl | None:
        """Return the unfetched URL given under a key, None if missing."""
        row = self._db.execute("SELECT * FROM scheduled WHERE key = ?", (key,)).fetchone()
        return _scheduled(row) if row else None

    def schedule(self, url: ScheduledUrl) -> None:
        """Record a URL as given."""
        self._db.execute("INSERT OR REPLACE INTO scheduled VALUES (?, ?, ?, ?, ?, ?, ?, ?)", url)

    def drop(self, keys: Iterable[bytes]) -> None:
        """Remove given URLs."""
        self._db.executemany("DELETE FROM scheduled WHERE key = ?", ((key,) for key in keys))

    def fetched(self, key: bytes) -> FetchedUrl | None:
        """Return the record of a fetched URL, None if it was not fetched."""
        row = self._db.execute("SELECT hops, finished FROM fetched WHERE key = ?", (key,))
        found = row.fetchone()
        return FetchedUrl(found[0], bool(found[1])) if found else None

    def fetch(self, fetches: Sequence[LoggedFetch]) -> list[ScheduledUrl]:
        """Record fetched URLs; return the given ones among them."""
        hops = {url_identity(fetch.url): fetch.hops[-_MOST_HOPS:] for fetch in fetches}
        self._db.executemany("INSERT OR IGNORE INTO fetched VALUES (?, ?, 0)", hops.items())
        return [found for key in hops if (found := self.scheduled_as(key))]

    def finish(self, keys: Iterable[bytes]) -> None:
        """Record that fetched URLs are finished in the queue."""
        self._db.executemany("UPDATE fetched SET finished = 1 WHERE key = ?", ((k,) for k in keys))

    def _fact(self, name: str) -> str:
        row = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return str(row[0]) if row else ""

    def _note(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))


def _locked(path: Path) -> BinaryIO:
    """Open a file that only one process can open at a time."""
    with SourceError.instead_of(OSError, f"{path} cannot be written"):
        lock = path.open("ab")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.close()
        raise SourceError(
            f"{path.parent} is already fed by another process; stop that one first"
        ) from error
    except OSError:
        # Some network file systems have no locks.
        return lock
    return lock


def _scheduled(row: tuple[Any, ...]) -> ScheduledUrl:
    found = ScheduledUrl(*row)
    return found._replace(again=bool(found.again))
