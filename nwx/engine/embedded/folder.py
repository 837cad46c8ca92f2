"""The folder of an archive: its layout, format version, locks and error translation."""

import errno
import fcntl
import os
import re
import shutil
import sqlite3
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nwx import mappings
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import exceeded_limit, full_temporary_folder
from nwx.bulk.whole_files import sealed_json, unsealed_json
from nwx.engine.base import Migration, pending_migrations
from nwx.engine.capabilities import Upgrade
from nwx.engine.embedded import database
from nwx.engine.embedded.captures.block_lookups import FileNames
from nwx.engine.embedded.database import add_sums
from nwx.engine.sqlite_files import transaction
from nwx.errors import (
    EngineBusyError,
    EngineError,
    EngineFullError,
    EngineVersionError,
    ErrorText,
    NoArchiveError,
)
from nwx.model import IndexName

FORMAT = 6
"""The format of new folders: the number of the last of MIGRATIONS."""

READABLE_FORMAT = 5
"""Folders of this format and later can be read without migration."""

_MANIFEST = "nwx.json"
LOCK = "lock"
MERGE_LOCK = "merge.lock"
"""The lock of a process that merges captures, which lets others write in between."""

_MERGE_SECONDS = 10.0
_COMMIT_LOCK = "commit.lock"
_SPARE_BYTES = 4 << 20
_FIRST_PAUSE_SECONDS, MOST_PAUSE_SECONDS = 0.001, 0.02
_FULL = (errno.ENOSPC, errno.EDQUOT)
_SYSTEM_ERROR = re.compile(r"os error (\d+)")
_OTHER_ADVICE = ErrorText("fix this, and run the same command again")
_UPGRADE = ErrorText("run `nwx upgrade`")
_COPY = ErrorText("copy it to where it can be written, and run `nwx upgrade` there")
_ADVICE = {
    errno.ENOSPC: ErrorText("free space there"),
    errno.EDQUOT: ErrorText("free space there"),
    errno.EMFILE: ErrorText("allow more open files (ulimit -n)"),
    errno.EFBIG: ErrorText("allow larger files (ulimit -f)"),
    errno.ENFILE: ErrorText("allow more open files"),
    errno.EACCES: ErrorText("check its permissions"),
    errno.EPERM: ErrorText("check its permissions"),
    errno.EROFS: ErrorText("choose a place that can be written to"),
    errno.ENOENT: ErrorText("restore it from a copy"),
    errno.EIO: ErrorText("check the disk, and restore it from a copy"),
}


class TantivyError(EngineError):
    """An error from tantivy on the files of an index; `Folder.our_errors` translates it."""


def damaged(path: Path, reason: object) -> EngineError:
    """Return the error for a damaged file that cannot be rebuilt."""
    return EngineError.translated(
        "%(path)s is damaged (%(reason)s); restore it from a copy", path=path, reason=reason
    )


class Folder:
    """Folder of an archive: `nwx.json`, `documents/`, `archive.sqlite` and derived files."""

    def __init__(self, path: Path, progress: ShowProgress = no_progress) -> None:
        self.path = path
        self.documents = path / "documents"
        self.database = path / "archive.sqlite"
        self.columns = path / "columns.arrays"
        self.segments = path / "segments"
        self.numbers = self.segments / "numbers"
        self.replacing = path / "replacing.json"
        self.format = FORMAT
        self.stores: frozenset[str] = frozenset()
        self.names = FileNames()
        self.progress = progress
        self.upgrade = Upgrade()

    def exists(self) -> bool:
        """Return whether the archive exists."""
        return (self.path / _MANIFEST).exists()

    def check(self, *, writing: bool = False) -> None:
        """Read the manifest. Raises EngineError if it is missing or damaged.

        Raises EngineVersionError on newer formats and, unless `writing`, on formats that must be
        migrated before they can be read.
        """
        if not self.exists():
            raise NoArchiveError.translated(
                "no archive at %(path)s; run `nwx import` first", path=self.path
            )
        try:
            found = unsealed_json((self.path / _MANIFEST).read_text(encoding="utf-8"))
            versions = dict(found["mappings"])
            self.format = int(found["format"])
            self.stores = frozenset(found.get("stores", ()))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(self.path / _MANIFEST, error) from error
        known = _versions()
        if self.format > FORMAT or any(
            number > known.get(name, 0) for name, number in versions.items()
        ):
            raise EngineVersionError.translated(
                "the archive at %(path)s was made by a newer version of nwx (format "
                "%(format)s, here %(known)s); update nwx",
                path=self.path,
                format=self.format,
                known=FORMAT,
            )
        if self.format < READABLE_FORMAT and not writing:
            raise self._older(_UPGRADE if os.access(self.path, os.W_OK) else _COPY)

    def _older(self, advice: ErrorText) -> EngineVersionError:
        return EngineVersionError.translated(
            "the archive at %(path)s was made by an older version of nwx (format %(format)s, here "
            "%(known)s); %(advice)s",
            path=self.path,
            format=self.format,
            known=FORMAT,
            advice=advice,
        )

    def prepare(self) -> None:
        """Create the folders. Raises EngineVersionError on an archive of a newer version."""
        if self.exists():
            self.check(writing=True)
        self.documents.mkdir(parents=True, exist_ok=True)
        self.clear()
        self.segments.mkdir(exist_ok=True)

    def clear(self) -> None:
        """Remove files prepared for a writer and never written."""
        shutil.rmtree(self.segments, ignore_errors=True)

    def finish(self) -> None:
        """Mark the archive as complete; called last, so that a partial folder does not count."""
        if not self.exists():
            self.write_manifest({"format": FORMAT, "mappings": _versions()})

    def write_manifest(self, changes: Mapping[str, Any]) -> None:
        """Update the manifest, whose presence marks a complete archive."""
        path, new = self.path / _MANIFEST, self.path / f"{_MANIFEST}.new"
        with self.commit_lock(), new.open("w", encoding="utf-8") as file:
            before = unsealed_json(path.read_text(encoding="utf-8")) if self.exists() else {}
            stores = sorted({*before.get("stores", ()), *changes.get("stores", ())})
            found = {**before, **changes, "stores": stores}
            file.write(f"{sealed_json(found, indent=2)}\n")
            file.flush()
            os.fsync(file.fileno())
            new.rename(path)
        self.format = found["format"]

    def note_store(self, name: str) -> None:
        """Record a new file of small entries, so that `nwx check` reports it if it is missing."""
        if name not in self.stores:
            self.write_manifest({"stores": [name]})
            self.stores |= {name}

    def lock(self, wait_seconds: float = 0.0, name: str = LOCK) -> int:
        """Return a file handle that keeps other writers out until it is closed.

        The system releases it when the process ends for any reason. A merge of captures, which
        releases it now and then, is waited for longer.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            if self.format < FORMAT:
                raise self._older(_COPY) from error
            raise EngineError.translated(
                "the archive at %(path)s cannot be written (%(reason)s); choose another place",
                path=self.path,
                reason=error,
            ) from error
        deadline, pause = time.monotonic() + wait_seconds, _FIRST_PAUSE_SECONDS
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                if name == LOCK and wait_seconds < _MERGE_SECONDS and self.is_merging():
                    deadline += _MERGE_SECONDS - wait_seconds
                    wait_seconds = _MERGE_SECONDS
                if time.monotonic() >= deadline:
                    os.close(handle)
                    raise EngineBusyError.translated(
                        "another process is writing to the archive at %(path)s; wait for it to end",
                        path=self.path,
                    ) from error
                time.sleep(pause)
                pause = min(2 * pause, MOST_PAUSE_SECONDS)
            else:
                return handle

    def is_merging(self) -> bool:
        """Return whether a process is merging captures."""
        try:
            os.close(self.lock(name=MERGE_LOCK))
        except EngineBusyError:
            return True
        return False

    @contextmanager
    def commit_lock(self, *, shared: bool = False) -> Iterator[None]:
        """Keep commits of the writer apart from backups (`shared`), which need a consistent state.

        A shared lock creates no file: without one, nothing has been committed.
        """
        path, flags = self.path / _COMMIT_LOCK, os.O_RDONLY if shared else os.O_RDWR | os.O_CREAT
        if shared and not path.exists():
            yield
            return
        handle = os.open(path, flags | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def is_full(self) -> bool:
        """Return whether the disk of the archive is nearly full."""
        return shutil.disk_usage(self.path).free < _SPARE_BYTES

    @contextmanager
    def our_errors(self, database: Path | None = None) -> Iterator[None]:
        """Raise errors of tantivy, SQLite and the system on the folder as EngineError.

        `database` is the SQLite file, if it is not the archive's main one.
        """
        try:
            yield
        except sqlite3.Error as error:
            raise self.database_error(error, database or self.database) from error
        except zlib.error as error:
            raise _damaged(database or self.database, error) from error
        except TantivyError as error:
            raise self._of_documents(str(error)) from error
        except OSError as error:
            raise self._of_system(error) from error

    def database_error(self, error: sqlite3.Error, database: Path) -> EngineError:
        """Return the error for an error of SQLite on a file."""
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_FULL or (code == sqlite3.SQLITE_IOERR and self.is_full()):
            return self.full_error()
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return EngineBusyError.translated(
                "another process holds %(database)s; try again later", database=database
            )
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
            return _damaged(database, error)
        if code in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY) and not os.access(
            database.parent, os.W_OK
        ):
            return self._of_system(PermissionError(errno.EACCES, "it is read-only", str(database)))
        if not database.exists():
            return self._of_system(
                FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), database)
            )
        limit = exceeded_limit()
        if limit:
            return EngineError.translated(
                "%(database)s: %(reason)s; %(limit)s", database=database, reason=error, limit=limit
            )
        return EngineError(f"{database}: {error}")

    def _of_documents(self, text: str) -> EngineError:
        code = _SYSTEM_ERROR.search(text)
        if code is not None:
            number = int(code[1])
            if number in _FULL:
                return self.full_error()
            return self._of_system(OSError(number, os.strerror(number), self.documents))
        if "LockBusy" in text or "LockFailure" in text:
            return EngineBusyError.translated(
                "another process is writing to %(documents)s", documents=self.documents
            )
        if self.is_full():
            return self.full_error()
        if limit := exceeded_limit():
            return EngineError.translated(
                "%(documents)s cannot be written: %(limit)s", documents=self.documents, limit=limit
            )
        return EngineError.translated(
            "%(documents)s cannot be used (%(reason)s); run `nwx check`, and restore it "
            "from a copy",
            documents=self.documents,
            reason=text,
        )

    def _of_system(self, error: OSError) -> EngineError:
        """Return the error for an OSError, which may concern a path outside the archive."""
        place = Path(os.fsdecode(error.filename or self.path))
        if error.errno in _FULL and (self.is_full() or place.is_relative_to(self.path)):
            return self.full_error()
        advice = _ADVICE.get(error.errno or 0, _OTHER_ADVICE)
        return EngineError.translated(
            "%(place)s cannot be used (%(reason)s); %(advice)s",
            place=place,
            reason=error,
            advice=advice,
        )

    def full_error(self) -> EngineFullError:
        """Return the error for a full disk; it names the archive or the temporary folder."""
        temporary = None if self.is_full() else full_temporary_folder()
        place = f"{temporary}, the folder for temporary files (TMPDIR)" if temporary else self.path
        return EngineFullError.translated(
            "no space is left at %(place)s; what was stored before is kept; free space "
            "and run the same command again",
            place=place,
        )


def _damaged(database: Path, error: Exception) -> EngineError:
    return EngineError.translated(
        "%(database)s is damaged (%(reason)s); run `nwx check`, and restore it from a copy",
        database=database,
        reason=error,
    )


def _versions() -> dict[str, int]:
    return {str(index): mappings.version(index) for index in IndexName}


def _to_2(db: sqlite3.Connection) -> None:
    database.make_attached(db)
    db.execute("DROP TABLE IF EXISTS facets")


def _to_5(db: sqlite3.Connection) -> None:
    from nwx.engine.embedded.captures.merges import finish_older_captures

    finish_older_captures(db)


MIGRATIONS: tuple[Migration[sqlite3.Connection], ...] = (
    Migration(
        2,
        "the table of attached dates indices; the table of facets, which nothing wrote, is dropped",
        _to_2,
    ),
    Migration(3, "a new form of look-ups of captures", lambda _: None),
    Migration(4, "checksums of dates, for `nwx check`", add_sums),
    Migration(5, "captures packed into blocks instead of rows", _to_5),
    Migration(6, "facets of enrichers", database.add_enriched_facets),
)
"""The migration steps; the number of the last is the format of new folders (FORMAT).

Missing counters need no step: every writer adds them (`database.add_missing`). A step that readers
depend on must raise READABLE_FORMAT.
"""


def bring_forward(folder: Folder, db: sqlite3.Connection) -> None:
    """Run the pending migration steps of a folder, all or none; the caller holds its lock.

    `db` is its database, open for writing; `folder.check` has run. Packing captures takes a while,
    and resumes where it was interrupted.
    """
    if folder.format == FORMAT:
        return
    # Imported here: most archives have the current format, and reports and NumPy take time to load.
    import logging

    from nwx.engine.embedded.captures.merges import pack_older_captures

    packs = folder.format < READABLE_FORMAT
    message = "upgrading the archive at %s from format %d to %d"
    logging.getLogger(__name__).warning(message, folder.path, folder.format, FORMAT)
    pack_older_captures(db, folder.progress)
    with transaction(db):
        for migration in pending_migrations(MIGRATIONS, folder.format):
            migration.apply(db)
    folder.write_manifest({"format": FORMAT, "mappings": _versions()})
    if packs and shutil.disk_usage(folder.path).free > folder.database.stat().st_size:
        database.erase_deleted(db, 0)
