"""Dates indices in separate folders, and writers for them and for an archive's main dates.

The folder's tables are those of an archive's dates, so other archives can attach an archive as a
dates index.
"""

import os
import shutil
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from nwx import mappings
from nwx.bulk.whole_files import sealed_json, unsealed_json
from nwx.engine.document_index import DatesBuilder
from nwx.engine.embedded.database import connect, erase_deleted, make_dates_tables
from nwx.engine.embedded.folder import LOCK, Folder, bring_forward, damaged
from nwx.engine.embedded.registry import Registry
from nwx.engine.embedded.staged_rows import dates_rows
from nwx.engine.sqlite_files import transaction
from nwx.errors import EngineBusyError, EngineError, EngineVersionError
from nwx.model import Dates, IndexName

_FORMAT = 1
"""The format of the folder; raise it when an older nwx cannot read a new folder."""

_MANIFEST = "dates.json"
_DATABASE = "dates-{}.sqlite"
_WAIT_SECONDS = 60.0


class DatesFolder(Folder):
    """A separate dates index: a database, and `dates.json`, which names the current one.

    A rebuild writes a new database, so that readers of the previous one can continue.
    """

    def exists(self) -> bool:
        return (self.path / _MANIFEST).exists()

    def check(self, *, writing: bool = False) -> None:
        """Find the current database. Raises EngineError if it is missing or unreadable."""
        try:
            found = unsealed_json((self.path / _MANIFEST).read_text(encoding="utf-8"))
            form, version = int(found["format"]), int(found["mapping"])
            self.number = int(found["number"])
        except FileNotFoundError as error:
            raise EngineError.translated("no dates index at %(path)s", path=self.path) from error
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise damaged(self.path / _MANIFEST, error) from error
        if form > _FORMAT or version > mappings.version(IndexName.DATES):
            raise EngineVersionError.translated(
                "the dates index at %(path)s was made by a newer version of nwx (format "
                "%(form)s, here %(format)s); update nwx",
                path=self.path,
                form=form,
                format=_FORMAT,
            )
        self.database = self.path / _DATABASE.format(self.number)

    def make(self, number: int = 1) -> None:
        """Create an empty database with a number; `finish` makes it current."""
        self.number = number
        self.database = self.path / _DATABASE.format(number)
        self.remove_database(number)
        with self.our_errors(), closing(connect(self.database, read_only=False)) as db:
            make_dates_tables(db)

    def finish(self) -> None:
        """Make the new database the current one."""
        manifest = self.path / f"{_MANIFEST}.new"
        version = mappings.version(IndexName.DATES)
        text = sealed_json({"format": _FORMAT, "mapping": version, "number": self.number})
        with self.our_errors():
            manifest.write_text(f"{text}\n", encoding="utf-8")
            manifest.rename(self.path / _MANIFEST)

    def remove_database(self, number: int) -> None:
        """Remove the database of a number, if it exists."""
        for suffix in ("", "-wal", "-shm"):
            (self.path / f"{_DATABASE.format(number)}{suffix}").unlink(missing_ok=True)

    def remove(self) -> None:
        """Remove the index."""
        handle = self.lock()
        try:
            with self.our_errors():
                (self.path / _MANIFEST).unlink(missing_ok=True)
                shutil.rmtree(self.path)
        finally:
            os.close(handle)

    def leave(self) -> None:
        """Remove the files made by locking if no index exists, and nothing else."""
        with suppress(OSError):
            (self.path / LOCK).unlink()
            self.path.rmdir()

    def _of_system(self, error: OSError) -> EngineError:
        if self.is_full():
            return self.full_error()
        return EngineError.translated(
            "%(path)s cannot be used (%(reason)s); fix this, or use another",
            path=self.path,
            reason=error,
        )


def dates_folder(path: Path) -> Folder:
    """Return the folder of a dates index, or of an archive, whose main dates serve as one.

    Raises EngineError if it is neither.
    """
    for folder in (DatesFolder(path), Folder(path)):
        if folder.exists():
            folder.check()
            return folder
    raise EngineError.translated(
        "no dates index at %(path)s, and no archive; build one with add-dates", path=path
    )


def make_dates_folder(path: Path) -> None:
    """Create an empty dates index if it is missing."""
    folder = DatesFolder(path)
    with locked(folder):
        if not folder.exists():
            folder.make()
            folder.finish()


class DatesWriter:
    """Adds dates to an index; the lock is held for one call at a time."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._path: Path | None = None
        self._db: sqlite3.Connection | None = None

    def append(self, dates: Sequence[Dates]) -> int:
        """Add dates; return how many pairs of timestamp and collection were new."""
        with self.transaction() as db:
            return Registry(db).add_dates(dates_rows(dates))

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the database for changes; other writers wait until they are committed."""
        with (
            locked(self._folder),
            self._folder.our_errors(),
            transaction(self._connected()) as db,
        ):
            yield db

    def erase(self, wait_seconds: float) -> bool:
        """Erase deleted data from the file; return whether none of it remains."""
        with locked(self._folder, wait_seconds), self._folder.our_errors():
            return erase_deleted(self._connected(), wait_seconds)

    def _connected(self) -> sqlite3.Connection:
        self._folder.check(writing=True)
        if self._db is None or self._path != self._folder.database:
            self.close()
            self._path = self._folder.database
            self._db = connect(self._path, read_only=False)
            bring_forward(self._folder, self._db)
        return self._db

    def close(self, columns: Path | None = None) -> None:
        """Close the database, and update an archive's columns file."""
        db, self._db = self._db, None
        if db is None:
            return
        with closing(db), suppress(EngineBusyError):  # the other writer updates it
            if columns is not None:
                # Imported here: it loads NumPy, which reading dates does not need.
                from nwx.engine.embedded.documents.columns import keep_columns

                with locked(self._folder, 0.0), self._folder.our_errors():
                    keep_columns(columns, db)


@contextmanager
def building(path: Path) -> Iterator["FolderBuilder"]:
    """Yield a builder of the next version of a dates index, current when the context ends.

    No other process can add to the index until then.
    """
    folder = DatesFolder(path)
    with locked(folder):
        old = 0
        if folder.exists():
            folder.check()
            old = folder.number
        folder.make(old + 1)
        try:
            with (
                folder.our_errors(),
                closing(connect(folder.database, read_only=False)) as db,
            ):
                yield FolderBuilder(db)
            folder.finish()
        except BaseException:
            folder.remove_database(old + 1)
            if not old:
                folder.leave()
            raise
        folder.remove_database(old)


class FolderBuilder(DatesBuilder):
    """Fills a new database, one transaction per call."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db

    def append(self, dates: Sequence[Dates]) -> int:
        with transaction(self._db):
            return Registry(self._db).add_dates(dates_rows(dates))


@contextmanager
def locked(folder: Folder, wait_seconds: float = _WAIT_SECONDS) -> Iterator[None]:
    """Keep other writers out of a folder within the context."""
    handle = folder.lock(wait_seconds)
    try:
        yield
    finally:
        os.close(handle)


def joined_file(archive: Folder, name: str) -> Path:
    """Return the file that caches the ids shared by an attached index and the archive."""
    return archive.path / f"joined-{name}.npz"


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Add to EngineErrors the name of the dates index, and how to continue without it."""
    try:
        yield
    except EngineError as error:
        raise type(error)(
            f"the dates index {name!r} cannot be read: {error}; "
            f"put it back, or go on without it (`nwx dates detach {name}`)"
        ) from error
