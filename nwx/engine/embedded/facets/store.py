"""The captures of a folder in bulk, and the place of what facet questions are answered from."""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from operator import itemgetter
from pathlib import Path

from nwx.engine.cube import MANIFEST, Build, CapturePlace, CaptureTuples, Cube, read_build
from nwx.engine.embedded.database import count_rows
from nwx.engine.embedded.reader import SELECT_CAPTURES, capture_of_row
from nwx.engine.entries import IndexEntry
from nwx.model import Capture, IndexName, IndexStats

_ROWS = 50_000
_ROW = (
    "SELECT timestamp, url, digest, status_code, content_type_norm, content_length, domain,"
    " public_suffix, record_type, hops, urlkey, collection,"
    " name, source_file_offset, num"
    " FROM captures JOIN sources ON sources.code = source WHERE num > ?"
)

Connect = Callable[[], AbstractContextManager[sqlite3.Connection]]


class EmbeddedCube(Cube):
    """The captures of a folder; `place` is the number of a capture in SQLite."""

    def __init__(self, folder: Path, connect: Connect) -> None:
        self.folder = folder
        self._connect = connect

    def stamp(self) -> str:
        with self._connect() as db:
            (last,) = db.execute("SELECT coalesce(max(num), 0) FROM captures").fetchone()
            # A number that was let go may be given again, but not without a deletion.
            return f"{count_rows(db, IndexName.CAPTURES)} {last} {count_rows(db, 'deletions')}"

    def months(self) -> dict[str, str]:
        # All of this is in the index by urlkey, which is much smaller than the table.
        command = "SELECT substr(timestamp, 1, 6), count(*), max(num) FROM captures GROUP BY 1"
        with self._connect() as db:
            deletions = count_rows(db, "deletions")
            return {
                month: " ".join(map(str, (*numbers, deletions)))
                for month, *numbers in db.execute(command)
            }

    def rows(self, months: Collection[str] | None, after: str = "") -> Iterator[CaptureTuples]:
        command, values = _ROW, [int(after or 0)]
        chosen = sorted(months) if months is not None else []
        if months is not None:
            command += f" AND substr(timestamp, 1, 6) IN ({','.join('?' * len(chosen))})"
        with self._connect() as db:
            cursor = db.execute(f"{command} ORDER BY num", (*values, *chosen))
            while rows := cursor.fetchmany(_ROWS):
                yield CaptureTuples([row[:-1] for row in rows], str(rows[-1][-1]))

    def version(self) -> str:
        try:
            found = (self.folder / MANIFEST).stat()
        except FileNotFoundError:
            return ""
        return f"{found.st_ino} {found.st_mtime_ns}"

    def newest(self) -> Build | None:
        return read_build(self.folder)

    def at_hand(self) -> Build | None:
        return read_build(self.folder)

    def fetch(self) -> Build | None:
        return read_build(self.folder)

    def publish(self, build: Build) -> None:
        """Do nothing: the folder is the place for everybody."""

    def captures(self, places: Sequence[CapturePlace]) -> list[Capture]:
        codes = "SELECT code FROM sources WHERE collection || '/' || name = ?"
        command = f"{SELECT_CAPTURES} WHERE source = ? AND source_file_offset = ?"
        with self._connect() as db:
            known = {name: db.execute(codes, (name,)).fetchall() for name, _ in set(places)}
            rows = [
                db.execute(command, (code, offset)).fetchone()
                for name, offset in places
                for (code,) in known[name]
            ]
            return [capture_of_row(row) for row in rows if row]

    def combinations(self) -> int:
        """Return the number of stored combinations."""
        build = read_build(self.folder)
        return build.combinations if build else 0

    def entries(self) -> Iterator[IndexEntry]:
        """Stream the stored combinations in the order of their ids."""
        build = read_build(self.folder)
        if build:
            yield from sorted(build.entries(), key=itemgetter("id"))

    def stats(self) -> IndexStats:
        """Return the size of all that was built."""
        found = (path.stat().st_size for path in self.folder.glob("*") if path.is_file())
        return IndexStats(self.combinations(), sum(found))
