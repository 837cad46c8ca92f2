"""The captures of a folder in bulk, and the files of the facets built from them."""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from operator import itemgetter
from pathlib import Path

from nwx.captures import capture_of_values
from nwx.engine.embedded.database import count_rows
from nwx.engine.embedded.reader import SELECT_CAPTURES
from nwx.engine.entries import IndexEntry
from nwx.engine.facet_store import BlobFolder, CapturePlace, CaptureRows, FacetStore
from nwx.model import Capture, IndexName, IndexStats

_ROWS = 50_000
_SELECT_ROWS = (
    "SELECT timestamp, url, digest, status_code, content_type_norm, content_length, domain,"
    " public_suffix, record_type, hops, urlkey, collection,"
    " name, source_file_offset, num"
    " FROM captures JOIN sources ON sources.code = source WHERE num > ?"
)

Connect = Callable[[], AbstractContextManager[sqlite3.Connection]]


class EmbeddedFacetStore(BlobFolder, FacetStore):
    """The captures of a folder, and the blobs in a folder within; a mark is a capture's number."""

    def __init__(self, folder: Path, connect: Connect) -> None:
        super().__init__(folder)
        self._connect = connect

    def stamp(self) -> str:
        with self._connect() as db:
            (last,) = db.execute("SELECT coalesce(max(num), 0) FROM captures").fetchone()
            # The number of a deleted capture may be given again, but not without a deletion.
            return f"{count_rows(db, IndexName.CAPTURES)} {last} {count_rows(db, 'deletions')}"

    def month_stamps(self) -> dict[str, str]:
        # All of this is in the table of lines, which is smaller than that of captures.
        command = "SELECT substr(timestamp, 1, 6), count(*), max(num) FROM cdx_lines GROUP BY 1"
        with self._connect() as db:
            deletions = count_rows(db, "deletions")
            return {
                month: " ".join(map(str, (*numbers, deletions)))
                for month, *numbers in db.execute(command)
            }

    def capture_rows(
        self, months: Collection[str] | None = None, after: str = ""
    ) -> Iterator[CaptureRows]:
        command, values = _SELECT_ROWS, [int(after or 0)]
        chosen = sorted(months) if months is not None else []
        if months is not None:
            command += f" AND substr(timestamp, 1, 6) IN ({','.join('?' * len(chosen))})"
        with self._connect() as db:
            cursor = db.execute(f"{command} ORDER BY num", (*values, *chosen))
            while rows := cursor.fetchmany(_ROWS):
                yield CaptureRows([row[:-1] for row in rows], str(rows[-1][-1]))

    def captures_at(self, places: Sequence[CapturePlace]) -> list[Capture]:
        codes = "SELECT code FROM sources WHERE collection || '/' || name = ?"
        command = f"{SELECT_CAPTURES} WHERE source = ? AND source_file_offset = ?"
        with self._connect() as db:
            known = {name: db.execute(codes, (name,)).fetchall() for name, _ in set(places)}
            rows = [
                db.execute(command, (code, offset)).fetchone()
                for name, offset in places
                for (code,) in known[name]
            ]
            return [capture_of_values(row) for row in rows if row]

    def count(self) -> int:
        """Return the number of entries of the index facets."""
        build = self.current()
        return build.entries.count if build and build.entries else 0

    def entries(self) -> Iterator[IndexEntry]:
        """Stream the entries of the index facets in the order of their ids."""
        build = self.current()
        if build and build.entries:
            yield from sorted(build.entries.read(self.folder), key=itemgetter("id"))

    def stats(self) -> IndexStats:
        """Return the size of the index facets, the other files of the build included."""
        stored = sum((self.folder / name).stat().st_size for name in self.blobs())
        return IndexStats(self.count(), stored)
