"""The facets and inlinks of a folder: bulk reads of their input, and the blobs built from it."""

import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nwx.bulk.progress import batches
from nwx.engine.embedded import reader
from nwx.engine.embedded.captures.block_lookups import MONTH
from nwx.engine.embedded.captures.blocks import BlockColumns
from nwx.engine.embedded.captures.runs import (
    START,
    Choose,
    captures_behind,
    place_of_text,
    places_of,
    snapshot,
    text_of_place,
)
from nwx.engine.embedded.captures.stored_captures import (
    capture_at,
    last_batch,
    source_codes,
)
from nwx.engine.embedded.captures.url_lookups import values_of_column
from nwx.engine.embedded.database import count_rows
from nwx.engine.entries import IndexEntry
from nwx.engine.facet_store import (
    CAPTURE_ROW_FIELDS,
    BlobFolder,
    CapturePlace,
    CaptureRows,
    FacetStore,
)
from nwx.engine.inlinks.inlink_index import (
    DocumentStates,
    InlinkIndex,
    LinkingDocument,
)
from nwx.model import Capture, IndexName, IndexStats

if TYPE_CHECKING:
    from nwx.engine.embedded.documents.view import ArchiveView

_ROWS = 50_000
_AT_ONCE = 1_000
_SPREAD = 0x9E3779B97F4A7C15
Connect = Callable[[], AbstractContextManager[sqlite3.Connection]]


class EmbeddedFacetStore(BlobFolder, FacetStore):
    """Captures of a folder, and blobs in a subfolder; a mark is a position in CDX order."""

    def __init__(self, folder: Path, connect: Connect) -> None:
        super().__init__(folder)
        self._connect = connect

    def stamp(self) -> str:
        with self._connect() as db:
            numbers = [count_rows(db, IndexName.CAPTURES), last_batch(db)]
            return " ".join(map(str, (*numbers, count_rows(db, "deletions"))))

    def month_stamps(self) -> dict[str, str]:
        command = (
            "SELECT month, sum(months.captures) AS held, max(months.last_batch) FROM months"
            " JOIN runs USING (run) WHERE shown GROUP BY month HAVING held"
        )
        with self._connect() as db:
            deletions = count_rows(db, "deletions")
            return {
                month: " ".join(map(str, (*numbers, deletions)))
                for month, *numbers in db.execute(command)
            }

    def capture_rows(
        self, months: Collection[str] | None = None, after: str = ""
    ) -> Iterator[CaptureRows]:
        begun = place_of_text(after) if after else START
        choose: Choose | None = None
        if months is not None:
            wanted = frozenset(months)

            def choose(piece: BlockColumns) -> list[bool]:
                return [time[:MONTH] in wanted for time in piece["timestamp"]]

        rows: list[tuple[Any, ...]] = []
        last = ""
        with self._connect() as db, snapshot(db):
            for piece in captures_behind(db, begun, CAPTURE_ROW_FIELDS, choose=choose):
                columns = [values_of_column(piece, name) for name in CAPTURE_ROW_FIELDS]
                rows += zip(*columns, strict=True)
                last = text_of_place(places_of({name: piece[name][-1:] for name in piece})[0])
                if len(rows) >= _ROWS:
                    yield CaptureRows(rows, last)
                    rows = []
            if rows:
                yield CaptureRows(rows, last)

    def captures_at(self, places: Sequence[CapturePlace]) -> list[Capture]:
        with self._connect() as db, snapshot(db):
            codes = source_codes(db, {name for name, _ in places})
            found = [
                capture_at(db, codes[name], offset) for name, offset in places if name in codes
            ]
        return [capture for capture in found if capture]

    def count(self) -> int:
        """Return the number of entries of the index facets."""
        build = self.current()
        return build.entries.count if build and build.entries else 0

    def entries(self) -> Iterator[IndexEntry]:
        """Yield the entries of the index facets in the order of their ids."""
        build = self.current()
        if build and build.entries:
            yield from sorted(build.entries.read(self.folder), key=itemgetter("id"))

    def stats(self) -> IndexStats:
        """Return the size of the index facets, the other files of the build included."""
        stored = sum((self.folder / name).stat().st_size for name in self.blobs())
        return IndexStats(self.count(), stored)


class EmbeddedInlinkIndex(BlobFolder, InlinkIndex):
    """Documents of a folder, and inlink blobs in a subfolder."""

    def __init__(
        self,
        folder: Path,
        connect: Connect,
        view: Callable[[], "ArchiveView"],
        stamp: Callable[[], str],
    ) -> None:
        super().__init__(folder)
        self._connect, self._view, self._stamp = connect, view, stamp

    def stamp(self) -> str:
        return self._stamp()

    def document_states(self) -> Iterator[DocumentStates]:
        import numpy as np  # here, as facets are listed without it

        command = "SELECT id, num, seq FROM documents JOIN ids USING (num) ORDER BY num"
        with self._connect() as db:
            sums = self._view().columns.date_sums
            rows = db.execute(command)
            while found := rows.fetchmany(_ROWS):
                ids, nums, seqs = zip(*found, strict=True)
                written = np.array(seqs, dtype=np.uint64) * np.uint64(_SPREAD)
                yield DocumentStates(b"".join(ids), written + sums[np.array(nums)])

    def linking_documents(self, ids: Sequence[bytes]) -> Iterator[LinkingDocument]:
        with self._connect() as db:
            view = self._view()
            for some in batches(ids, _AT_ONCE):
                wanted = [id.hex() for id in some]
                yield from _documents(view, reader.nums(db, wanted))


def _documents(view: "ArchiveView", nums: Sequence[int]) -> Iterator[LinkingDocument]:
    from nwx.engine.embedded.documents import tantivy_index

    found = tantivy_index.documents_by_num(view.searcher, nums)
    for num, document in found:
        head, links = tantivy_index.links_of(document)
        count = len(links.links)
        yield LinkingDocument(
            bytes.fromhex(head.id),
            head.url,
            head.urlkey,
            links.links,
            _filled(links.links_text, count, ""),
            _filled(links.links_kind, count, "a"),
            view.columns.seen_pairs(num),
        )


def _filled(values: list[str], count: int, missing: str) -> list[str]:
    return values if len(values) == count else [*values, *[missing] * count][:count]
