"""The named dates indices of an archive, all but the main one."""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from pathlib import Path

from nwx.engine.document_index import DatesBuilder, check_name, is_name
from nwx.engine.embedded import reader
from nwx.engine.embedded.database import attached, connect, count_rows, make_attached
from nwx.engine.embedded.date_folders import (
    DatesFolder,
    DatesWriter,
    building,
    dates_folder,
    joined_file,
    make_dates_folder,
    named_errors,
)
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.registry import Registry
from nwx.engine.embedded.staged_rows import dates_rows
from nwx.engine.entries import IndexEntry, dates_from_entry
from nwx.errors import EngineError, UsageError
from nwx.model import MAIN_DATES, Dates, IndexName, NamedDates

_OWN = "dates"

Altering = Callable[[], AbstractContextManager[sqlite3.Connection]]
DatesReading = Callable[[], AbstractContextManager[sqlite3.Connection]]


class EmbeddedDatesIndices:
    """Attaches, fills and lists the dates indices of an archive.

    Indices that it creates are below `dates` in the archive's folder; others stay in place.
    `reading` yields the archive's database, `altering` a transaction of it.
    """

    def __init__(self, archive: Folder, reading: DatesReading, altering: Altering) -> None:
        self._archive = archive
        self._reading = reading
        self._altering = altering
        self._writers: dict[str, DatesWriter] = {}

    def listed(self) -> list[NamedDates]:
        """Return all dates indices, the main one first."""
        with self._reading() as db:
            main = _measured(db, MAIN_DATES, self._archive, attached=True)
        addresses = self._addresses()
        others = [self._named(name, addresses) for name in sorted({*addresses, *self._own_names()})]
        return [main, *others]

    def _named(self, name: str, addresses: dict[str, str]) -> NamedDates:
        path = self._path(name, addresses)
        try:
            folder = dates_folder(path)
            with folder.our_errors(), closing(connect(folder.database, read_only=True)) as db:
                return _measured(db, name, folder, attached=name in addresses)
        except EngineError as error:
            return NamedDates(name, str(path), name in addresses, problem=str(error))

    def folders(self) -> Iterator[tuple[str, Folder | None, str]]:
        """Yield name and folder of each index except the main one, or why it cannot be read."""
        addresses = self._addresses()
        for name in sorted({*addresses, *self._own_names()}):
            try:
                with named_errors(name):
                    yield name, dates_folder(self._path(name, addresses)), ""
            except EngineError as error:
                yield name, None, str(error)

    def _addresses(self) -> dict[str, str]:
        with self._reading() as db:
            return attached(db)

    def _own_names(self) -> Iterator[str]:
        for path in (self._archive.path / _OWN).glob("*"):
            if DatesFolder(path).exists():
                yield path.name

    def _path(self, name: str, addresses: dict[str, str]) -> Path:
        """Return the path of an index by name, existing or to be created."""
        return self._archive.path / addresses.get(name, f"{_OWN}/{name}")

    def attach(self, name: str, address: str) -> None:
        """Attach an index, as `Engine.attach_dates` does."""
        check_name(name)
        folder = dates_folder(Path(address).absolute() if address else self._path(name, {}))
        if folder.path.resolve() == self._archive.path.resolve():
            raise EngineError(
                f"{folder.path} is the archive itself, whose dates are always included"
            )
        with self._altering() as db:
            make_attached(db)
            for known, place in attached(db).items():
                same = (self._archive.path / place).resolve() == folder.path.resolve()
                if same and known == name:
                    return
                if same:
                    raise EngineError(f"{folder.path} is already attached as {known!r}")
                if known == name:
                    raise EngineError(
                        f"another dates index is attached as {name!r} ({place}); detach it first"
                    )
            own = folder.path == self._path(name, {})
            place = f"{_OWN}/{name}" if own else str(folder.path)
            db.execute("INSERT INTO attached VALUES (?, ?)", (name, place))

    def detach(self, name: str) -> None:
        """Detach an index, as `Engine.detach_dates` does."""
        with self._altering() as db:
            make_attached(db)
            if not db.execute("DELETE FROM attached WHERE name = ?", (name,)).rowcount:
                raise EngineError(f"no dates index is attached as {name!r}")
        joined_file(self._archive, name).unlink(missing_ok=True)

    def drop(self, name: str) -> None:
        """Detach and delete an index, as `Engine.drop_dates` does."""
        check_name(name)
        addresses = self._addresses()
        folder = DatesFolder(self._path(name, {}))
        if self._path(name, addresses) != folder.path:
            raise EngineError(
                f"the dates index {name!r} lies at {addresses[name]}, outside the archive; "
                f"detach it, and delete it there"
            )
        if not folder.exists():
            raise EngineError(f"the archive has no dates index {name!r}")
        if name in addresses:
            self.detach(name)
        self._forget(name)
        folder.remove()

    def append(self, name: str, dates: Sequence[Dates]) -> int:
        """Add dates to an index, created and attached if missing; return how many were new."""
        check_name(name)
        path = self._path(name, self._addresses())
        if not DatesFolder(path).exists() and not Folder(path).exists():
            make_dates_folder(path)
            self.attach(name, "")
        if name not in self._writers:
            self._writers[name] = DatesWriter(dates_folder(path))
        return self._writers[name].append(dates)

    def made(self) -> list[str]:
        """Return the names of the indices in the archive's folder, attached or not."""
        return sorted(self._own_names())

    def remove(self, name: str, dates: Sequence[Dates]) -> int:
        """Remove dates from an index in the archive's folder; return the number removed."""
        with self._own_writer(name).transaction() as db:
            return Registry(db).remove_dates(dates_rows(dates))

    def erase(self, name: str, wait_seconds: float) -> bool:
        """Erase deleted data from an index in the archive's folder; return whether none remains."""
        return self._own_writer(name).erase(wait_seconds)

    def _own_writer(self, name: str) -> DatesWriter:
        if name not in self._writers:
            self._writers[name] = DatesWriter(dates_folder(self._path(name, {})))
        return self._writers[name]

    def scan(self, place: str) -> Iterator[Dates]:
        """Yield the dates of one index, as `Engine.scan_dates` does."""
        folder = self._archive if place == MAIN_DATES else dates_folder(self._place(place))
        folder.check()
        with folder.our_errors(), closing(connect(folder.database, read_only=True)) as db:
            yield from map(dates_from_entry, reader.stored_entries_of(db, IndexName.DATES))

    def stamps(self) -> Iterator[str]:
        """Yield for each attached index a text that changes whenever it is written to."""
        for name, place in self._addresses().items():
            with named_errors(name):
                folder = dates_folder(self._archive.path / place)
                with folder.our_errors(), closing(connect(folder.database, read_only=True)) as db:
                    (last,) = db.execute("SELECT coalesce(max(rowid), 0) FROM seen").fetchone()
                    yield f"{name} {folder.database.name} {last} {count_rows(db, 'deletions')}"

    def scan_attached(self) -> list[Iterator[IndexEntry]]:
        """Return a stream of the entries of each attached index."""
        return [self._entries(name, place) for name, place in self._addresses().items()]

    def _entries(self, name: str, place: str) -> Iterator[IndexEntry]:
        with named_errors(name):
            folder = dates_folder(self._archive.path / place)
            with folder.our_errors(), closing(connect(folder.database, read_only=True)) as db:
                yield from reader.stored_entries_of(db, IndexName.DATES)

    def build(self, place: str) -> AbstractContextManager[DatesBuilder]:
        """Return a builder that replaces an index, as `Engine.build_dates` does."""
        path = self._archive.path if place == MAIN_DATES else self._place(place)
        if Folder(path).exists():
            raise UsageError(
                f"{place} is an archive, whose own dates cannot be rebuilt; "
                f"build another index and attach it"
            )
        return building(path)

    def _place(self, place: str) -> Path:
        """Return the folder of an index by its name in the archive, or its path.

        Anything else is taken as the name of a new index of the archive.
        """
        addresses = self._addresses()
        own = self._path(place, addresses)
        is_own = place in addresses or DatesFolder(own).exists() or not Path(place).is_dir()
        return own if is_name(place) and is_own else Path(place)

    def _forget(self, name: str) -> None:
        writer = self._writers.pop(name, None)
        if writer is not None:
            writer.close()

    def close(self) -> None:
        """Close the indices that were written to."""
        for name in list(self._writers):
            self._forget(name)


def _measured(db: sqlite3.Connection, name: str, folder: Folder, *, attached: bool) -> NamedDates:
    (dates,) = db.execute("SELECT count(*) FROM seen").fetchone()
    return NamedDates(
        name,
        str(folder.path),
        attached,
        entries=count_rows(db, IndexName.DATES),
        dates=dates,
        bytes=reader.stored_bytes(db, folder, IndexName.DATES),
    )
