"""Attached dates indices, joined with the documents of an archive.

Each index has separate numbers for its ids. They are mapped to the archive's numbers once for the
ids that both have, and later only for ids new on either side.
"""

import sqlite3
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import blake2b
from itertools import chain
from pathlib import Path

import numpy as np
import numpy.typing as npt

from nwx.data_classes import dataclass
from nwx.engine.embedded import reader
from nwx.engine.embedded.database import attached, connect, count_rows
from nwx.engine.embedded.date_folders import dates_folder, joined_file, locked, named_errors
from nwx.engine.embedded.documents.stored_columns import Ints, Seen
from nwx.engine.embedded.folder import Folder
from nwx.engine.sqlite_files import sqlite_uri
from nwx.errors import EngineError
from nwx.model import Dates

_KEPT_NUMBERS = ("deletions", "last", "seen", "size")
_WORTH_KEEPING = 0.1
_PROBES = 64


@dataclass(frozen=True, slots=True)
class LookedUp:
    """Dates by the index's numbers, and the corresponding archive numbers.

    `rows` are rowid, number, timestamp and collection. `last` is the last id number read, `seen`
    the last row of dates read, `size` the first number of the archive not read yet. Valid while
    nothing has been deleted from the index.
    """

    deletions: int
    last: int
    seen: int
    size: int
    rows: Ints
    numbers: Ints

    def is_worth_keeping(self, before: "LookedUp") -> bool:
        """Return whether enough is new since `before` to save it."""
        known = before.seen + before.size
        new = self.seen + self.size - known
        return before.deletions != self.deletions or new > _WORTH_KEEPING * (new + known)


def nothing(deletions: int) -> LookedUp:
    """Return the empty state before any look-up."""
    none = np.zeros((0, 4), dtype=np.int64)
    return LookedUp(deletions, 0, 0, 0, none, np.zeros(1, dtype=np.int64))


def load_lookup(file: Path, db: sqlite3.Connection) -> LookedUp | None:
    """Return the contents of a file, None if unreadable or made from other databases than `db`."""
    try:
        with file.open("rb") as opened, np.load(opened, allow_pickle=False) as read:
            arrays = {name: read[name] for name in ("kept", "rows", "numbers", "probes")}
        numbers = dict(zip(_KEPT_NUMBERS, arrays["kept"].tolist(), strict=True))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
    found = LookedUp(**numbers, rows=arrays["rows"], numbers=arrays["numbers"])
    return found if np.array_equal(_probes(db, found), arrays["probes"]) else None


def save_lookup(file: Path, db: sqlite3.Connection, found: LookedUp) -> None:
    """Write looked-up dates and numbers to a file."""
    new = file.with_suffix(".new.npz")
    kept = np.array([getattr(found, name) for name in _KEPT_NUMBERS], dtype=np.int64)
    probes = _probes(db, found)
    np.savez(new, kept=kept, rows=found.rows, numbers=found.numbers, probes=probes)
    new.rename(file)


def _probes(db: sqlite3.Connection, found: LookedUp) -> npt.NDArray[np.uint8]:
    """Return a hash of sample ids of both sides and the last date, to identify the databases.

    It keeps a file from counting as current next to an older database restored from a copy.
    """
    digest = blake2b()
    for schema, last in (("main", found.last), ("archive", found.size - 1)):
        nums = np.unique(np.linspace(1, max(last, 1), _PROBES, dtype=np.int64)).tolist()
        places = ",".join("?" * len(nums))
        command = f"SELECT num, id FROM {schema}.ids WHERE num IN ({places}) ORDER BY num"
        digest.update(repr(db.execute(command, nums).fetchall()).encode())
    command = "SELECT num, timestamp, collection FROM main.seen WHERE rowid = ?"
    digest.update(repr(db.execute(command, (found.seen,)).fetchall()).encode())
    return np.frombuffer(digest.digest(), dtype=np.uint8)


# The first read scans all ids in order, on both sides.
_ALL_HERE = (
    "SELECT ids.num, other.num FROM ids CROSS JOIN archive.ids AS other ON other.id = ids.id"
    " WHERE +ids.num > ? AND +other.num < ?"
)
_NEW_HERE = (
    "SELECT ids.num, other.num FROM ids CROSS JOIN archive.ids AS other ON other.id = ids.id"
    " WHERE ids.num > ? AND other.num < ?"
)
_NEW_THERE = (
    "SELECT ids.num, other.num FROM archive.ids AS other CROSS JOIN ids ON ids.id = other.id"
    " WHERE other.num >= ? AND other.num < ? AND ids.num <= ?"
)
_SEEN = "SELECT rowid, num, timestamp, collection FROM seen WHERE rowid > ?"


class AttachedIndex:
    """One dates index attached to an archive, open for reading."""

    def __init__(self, name: str, folder: Folder, archive: Folder) -> None:
        self._name = name
        self._folder = folder
        self._path = folder.database
        self._file = joined_file(archive, name)
        self._known: LookedUp | None = None
        self._version = -1
        with self._our_errors():
            self._db = connect(folder.database, read_only=True)
            uri = sqlite_uri(archive.database, read_only=True)
            self._db.execute("ATTACH DATABASE ? AS archive", (uri,))

    def is_current(self) -> bool:
        """Return whether the open database is still the current one."""
        with self._our_errors():
            self._folder.check()
            return self._folder.database == self._path

    def has_changed(self) -> bool:
        """Return whether the index has unread changes."""
        with self._our_errors():
            (version,) = self._db.execute("PRAGMA main.data_version").fetchone()
            return bool(version != self._version)

    def read(self, size: int, codes: dict[str, int]) -> Seen:
        """Return the dates of the ids whose number in the archive is below `size`.

        `codes` are the codes of collections; new names are added.
        """
        with self._our_errors():
            (self._version,) = self._db.execute("PRAGMA main.data_version").fetchone()
            self._db.execute("BEGIN")
            try:
                known = self._known = self._read(size)
                names = dict(self._db.execute("SELECT code, name FROM collections"))
            finally:
                self._db.execute("COMMIT")
        translated = np.zeros(max(names, default=0) + 1, dtype=np.int64)
        for code, name in names.items():
            translated[code] = codes.setdefault(name, max(codes.values(), default=0) + 1)
        nums = known.numbers[known.rows[:, 1]]
        there = nums > 0
        return Seen(nums[there], known.rows[there, 2], translated[known.rows[there, 3]])

    def _read(self, size: int) -> LookedUp:
        deletions = count_rows(self._db, "deletions")
        before = self._known or load_lookup(self._file, self._db)
        if before is None or before.deletions != deletions:
            before = nothing(deletions)
        (last,) = self._db.execute("SELECT coalesce(max(num), 0) FROM ids").fetchone()
        numbers = np.zeros(last + 1, dtype=np.int64)
        numbers[: len(before.numbers)] = before.numbers
        new_here = _NEW_HERE if before.last else _ALL_HERE
        for command, bounds in (
            (new_here, (before.last, size)),
            (_NEW_THERE, (before.size, size, before.last)),
        ):
            pairs = _rows(self._db, command, bounds)
            numbers[pairs[:, 0]] = pairs[:, 1]
        new = _rows(self._db, _SEEN, (before.seen,))
        seen = int(new[:, 0].max()) if len(new) else before.seen
        rows = np.concatenate([before.rows, new]) if len(new) else before.rows
        return LookedUp(deletions, last, seen, size, rows, numbers)

    def keep(self, size: int) -> None:
        """Save the look-ups if much has been added since the last save."""
        with self._our_errors():
            before = load_lookup(self._file, self._db) or nothing(-1)
            self.read(size, {})
            if self._known is not None and self._known.is_worth_keeping(before):
                save_lookup(self._file, self._db, self._known)

    def dates(self, ids: Sequence[str]) -> dict[str, Dates]:
        """Return the dates of ids."""
        with self._our_errors():
            return reader.stored_dates(self._db, ids)

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        with named_errors(self._name), self._folder.our_errors():
            yield


class Attached:
    """The dates indices currently attached to an archive."""

    def __init__(self, archive: Folder) -> None:
        self._archive = archive
        self._addresses: dict[str, str] = {}
        self._open: list[AttachedIndex] = []

    def look(self, db: sqlite3.Connection) -> None:
        """Open the indices that the archive lists as attached."""
        addresses = attached(db)
        if addresses == self._addresses and all(one.is_current() for one in self._open):
            return
        self.close()
        for name, address in addresses.items():
            with named_errors(name):
                folder = dates_folder(self._archive.path / address)
            self._open.append(AttachedIndex(name, folder, self._archive))
        self._addresses = addresses

    def have_changed(self) -> bool:
        """Return whether any index has unread changes."""
        return any(not one.is_current() or one.has_changed() for one in self._open)

    def read(self, size: int, codes: dict[str, int]) -> list[Seen]:
        """Return the dates of each index, as `AttachedIndex.read` does."""
        return [one.read(size, codes) for one in self._open]

    def keep(self, db: sqlite3.Connection) -> None:
        """Save the look-ups, so that the archive opens quickly."""
        self.look(db)
        (size,) = db.execute("SELECT coalesce(max(num), 0) + 1 FROM ids").fetchone()
        for one in self._open:
            one.keep(size)

    def dates(self, ids: Sequence[str]) -> list[dict[str, Dates]]:
        """Return the dates of ids in each index."""
        return [one.dates(ids) for one in self._open]

    def close(self) -> None:
        """Close all indices."""
        for one in self._open:
            one.close()
        self._open, self._addresses = [], {}


def keep_joined(archive: Folder) -> None:
    """Save the look-ups of attached indices, unless another process writes to the archive."""
    if not archive.exists():
        return
    with (
        suppress(EngineError),  # only a cache; a later read raises the error
        archive.our_errors(),
        closing(connect(archive.database, read_only=True)) as db,
    ):
        if attached(db):
            with locked(archive, 0.0), closing(Attached(archive)) as indices:
                indices.keep(db)


def _rows(db: sqlite3.Connection, command: str, bounds: tuple[int, ...]) -> Ints:
    cursor = db.execute(command, bounds)
    width = len(cursor.description)
    return np.fromiter(chain.from_iterable(cursor), dtype=np.int64).reshape(-1, width)
