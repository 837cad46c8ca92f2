"""Backups of an archive folder: each is a folder with a full copy, complete once it has its name.

Files that must be consistent with each other are pinned at one moment, under the commit lock:
SQLite files by opening a read transaction, immutable files by a hard link or, on another disk, by
opening them. They are copied afterwards, while other processes may write.
"""

import errno
import filecmp
import json
import os
import re
import resource
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import BinaryIO

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.bulk.whole_files import file_checksum, unfinished_path, whole_folder
from nwx.engine.capabilities import Backups, Verify
from nwx.engine.embedded.database import COLUMNS_SUM, count_rows
from nwx.engine.embedded.date_folders import locked
from nwx.engine.embedded.folder import Folder, damaged
from nwx.engine.embedded.folder_damage import segment_files
from nwx.engine.embedded.text_writer import META, sync
from nwx.engine.embedded.writer import finish_replacing
from nwx.engine.facet_store import CURRENT_BUILD
from nwx.engine.sqlite_files import connect_sqlite
from nwx.errors import EngineBusyError, EngineFullError, UsageError

_NAME = re.compile(r"\d{8}-\d{6}-\d{3}")
_HEADS = (META, CURRENT_BUILD, "dates.json")
"""Files that list the other files of their folder, replaced whenever those change."""

_FOLDERS = ("documents", "facets", "inlinks", "dates/*")
_TRIPLES, _STORE = "triples", "store"
_KNOWN = (*_FOLDERS[:3], "dates", _TRIPLES, "segments", "documents.old", "documents.new")
_NEVER_CHANGED = re.compile(
    r"(documents|facets|inlinks)/(?!.*\.json$).*|columns\.arrays|joined-.*\.npz|.*\.sst"
)
_LEFT_OUT = re.compile(r"\..*|.*\.(lock|new|new\.npz)|lock|.*-(wal|shm|journal)")
_SQLITE = b"SQLite format 3\0"
_PAGES = 4_096
_ATTEMPTS = 100


class FolderBackups(Backups):
    """Backups of an archive folder under another folder, each in a folder named by its time.

    Immutable files are hard links to the archive's files if both are on one file system, else to
    those of the previous backup. Other files unchanged since that backup are hard links to it.
    """

    def __init__(self, folder: Folder, place: Path) -> None:
        self._folder, self._place = folder, place

    def names(self) -> list[str]:
        found = self._place.iterdir() if self._place.is_dir() else ()
        return sorted(one.name for one in found if _NAME.fullmatch(one.name))

    def make(self, name: str, verify: Verify, progress: ShowProgress) -> None:
        earlier = [self._place / one for one in self.names()[-1:]]
        self._copy(self._folder, self._place / name, verify, progress, earlier)

    def remove(self, name: str) -> None:
        old = unfinished_path(self._place / name)  # a partial backup must not look complete
        (self._place / name).rename(old)
        shutil.rmtree(old)

    def restore(self, name: str, verify: Verify, progress: ShowProgress, *, replaced: bool) -> None:
        here, backup = self._folder, Folder(self._place / name)
        if here.exists():
            self._check_replaceable(replaced=replaced)
        with locked(here, 0.0) if here.exists() else nullcontext():
            self._copy(backup, here.path, verify, progress, replaced=here.exists())

    def _check_replaceable(self, *, replaced: bool) -> None:
        path = self._folder.path
        if not replaced:
            raise UsageError(
                f"there is an archive at {path}; with replace, the backup takes its place"
            )
        for one in path.iterdir():
            if one.is_dir() and one.name not in _KNOWN:
                raise UsageError(
                    f"{one} does not belong to an archive; move it away, it would be deleted"
                )

    @staticmethod
    def _copy(
        source: Folder,
        path: Path,
        verify: Verify,
        progress: ShowProgress,
        earlier: list[Path] | None = None,
        *,
        replaced: bool = False,
    ) -> None:
        source.check(writing=True)  # older formats are accepted, and migrated once restored
        path = path.resolve()
        if path.is_relative_to(source.path.resolve()):
            raise UsageError(f"{path} is inside {source.path}; name a folder outside it")
        try:
            with whole_folder(path, replaced=replaced) as new, source.our_errors():
                with _many_open_files(), ExitStack() as opened:
                    _Copy(source, new, earlier or [], opened).run(progress)
                verify(str(new))
        except EngineFullError as error:
            # What is written is the copy; reading needs space only where the source is.
            raise error if source.is_full() else Folder(path.parent).full_error() from error
        sync(path.parent)


class _Copy:
    """A copy of a folder; `opened` closes the files and connections pinned for it."""

    def __init__(
        self, source: Folder, target: Path, earlier: list[Path], opened: ExitStack
    ) -> None:
        self._source, self._target, self._earlier = source, target, earlier
        self._opened = opened
        self._databases: dict[Path, sqlite3.Connection] = {}
        self._files: dict[Path, BinaryIO] = {}

    def run(self, progress: ShowProgress) -> None:
        while not self._is_taken():
            pass
        if Path(self._source.database.name) not in self._databases:
            raise damaged(self._source.database, "missing, or not an SQLite database")
        copies = self._take_triples()
        total, done = len(self._databases) + len(self._files), 0
        for name, db in self._databases.items():
            self._copy_database(name, db)
            progress(WorkProgress("copying", done := done + 1, total))
        for name, file in self._files.items():
            self._copy_file(name, file)
            progress(WorkProgress("copying", done := done + 1, total))
        self._check_columns()
        if copies:
            self._fill_store(self._target / copies)
        for folder in (self._target, *(one for one in self._target.rglob("*") if one.is_dir())):
            sync(folder)

    def _is_taken(self) -> bool:
        """Pin the files of an archive; return False if a writer was just killed in a commit."""
        can_finish = finish_replacing(self._source)
        with self._source.commit_lock(shared=True):
            if can_finish and self._source.replacing.exists():
                return False
            self._take(Path())
            for pattern in _FOLDERS:
                for folder in sorted(self._source.path.glob(pattern)):
                    self._take_whole(folder.relative_to(self._source.path))
        return True

    def _take_whole(self, folder: Path) -> None:
        """Pin the files of a folder, again if another process replaced some meanwhile."""
        for _ in range(_ATTEMPTS):
            before = self._heads(folder)
            try:
                self._take(folder)
                if self._heads(folder) == before:
                    return
            except FileNotFoundError:
                pass
            self._forget(folder)
        raise EngineBusyError(f"{self._source.path / folder} keeps changing; try again")

    def _heads(self, folder: Path) -> list[bytes]:
        paths = (self._source.path / folder / head for head in _HEADS)
        return [path.read_bytes() for path in paths if path.exists()]

    def _forget(self, folder: Path) -> None:
        shutil.rmtree(self._target / folder, ignore_errors=True)
        for taken in (self._databases, self._files):
            for name in [name for name in taken if name.parent == folder]:
                taken.pop(name).close()

    def _take(self, folder: Path) -> None:
        (self._target / folder).mkdir(parents=True, exist_ok=True)
        for path in sorted(self._names(folder)):
            self._take_file(path.relative_to(self._source.path))

    def _names(self, folder: Path) -> Iterator[Path]:
        inside = self._source.path / folder
        if (inside / META).exists():
            meta = json.loads((inside / META).read_bytes())
            found = [inside / META, *segment_files(inside, meta)]
            # tantivy deletes only files listed here.
            names = json.dumps([path.name for path in found])
            (self._target / folder / ".managed.json").write_text(names, encoding="utf-8")
            yield from found
            return
        for path in inside.iterdir():
            if path.is_file() and not _LEFT_OUT.fullmatch(path.name):
                yield path

    def _take_file(self, name: Path) -> None:
        path = self._source.path / name
        if _NEVER_CHANGED.fullmatch(str(name)) and self._is_linked(path, name):
            return
        file = self._opened.enter_context(path.open("rb"))
        if file.read(len(_SQLITE)) != _SQLITE:
            self._files[name] = file
            return
        db = self._opened.enter_context(closing(connect_sqlite(path, read_only=True)))
        db.execute("BEGIN")
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()  # starts the snapshot
        self._databases[name] = db

    def _is_linked(self, path: Path, name: Path) -> bool:
        if _link(path, self._target / name):
            return True
        found, earlier = path.stat(), [folder / name for folder in self._earlier]
        same = (one for one in earlier if one.exists() and _is_same(one.stat(), found))
        return any(_link(one, self._target / name) for one in same)

    def _take_triples(self) -> Path | None:
        """Pin the newest copy of the triples for readers; return its path in the archive."""
        for _ in range(_ATTEMPTS):
            copies = sorted((self._source.path / _TRIPLES).glob("read-*"))
            if not copies:
                break
            newest = copies[-1].relative_to(self._source.path)
            try:
                self._take(newest)
            except FileNotFoundError:  # a newer copy took its place
                self._forget(newest)
            else:
                return newest
        return None

    @staticmethod
    def _fill_store(copy: Path) -> None:
        """Create the store that writers of triples continue from."""
        store = copy.with_name(_STORE)
        store.mkdir()
        for path in copy.iterdir():
            if not (path.suffix == ".sst" and _link(path, store / path.name)):
                shutil.copy2(path, store)

    def _copy_database(self, name: Path, db: sqlite3.Connection) -> None:
        target = self._target / name
        _make(target, self._source.path / name)
        with closing(sqlite3.connect(target)) as copied:
            copied.execute("PRAGMA synchronous = OFF")
            db.backup(copied, pages=_PAGES, sleep=0)
        sync(target)
        self._link_unchanged(name)

    def _copy_file(self, name: Path, file: BinaryIO) -> None:
        target, found = self._target / name, os.fstat(file.fileno())
        _make(target, self._source.path / name)
        file.seek(0)
        with target.open("wb") as copied:
            shutil.copyfileobj(file, copied)
        os.utime(target, ns=(found.st_atime_ns, found.st_mtime_ns))
        sync(target)
        self._link_unchanged(name)

    def _link_unchanged(self, name: Path) -> None:
        """Replace a copied file with a hard link if the previous backup has the same content."""
        target = self._target / name
        for folder in self._earlier:
            before, link = folder / name, target.with_name(f"{target.name}.link")
            same = before.exists() and filecmp.cmp(before, target, shallow=False)
            if same and _link(before, link):
                link.replace(target)

    def _check_columns(self) -> None:
        """Delete a columns file newer than the copied database; it is only a cache."""
        columns = Folder(self._target).columns
        known = count_rows(self._databases[Path(self._source.database.name)], COLUMNS_SUM)
        if columns.exists() and known and file_checksum(columns) != known:
            columns.unlink()


@contextmanager
def _many_open_files() -> Iterator[None]:
    """Raise the limit of open files to the hard limit."""
    few, many = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (many, many))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (few, many))


def _is_same(one: os.stat_result, other: os.stat_result) -> bool:
    return (one.st_size, one.st_mtime_ns) == (other.st_size, other.st_mtime_ns)


def _link(path: Path, link: Path) -> bool:
    """Hard-link a file; return False if the file systems do not allow it."""
    try:
        os.link(path, link)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        return False
    return True


def _make(path: Path, like: Path) -> None:
    """Create an empty file with the permissions of `like`, 0600 if that is missing."""
    try:
        mode = like.stat().st_mode & 0o777
    except FileNotFoundError:
        mode = 0o600
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
