"""The index pictures of an archive in a folder."""

import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from nwx.engine.embedded.entries.own_database import OwnDatabase, OwnIndex
from nwx.engine.embedded.pictures import rows
from nwx.engine.embedded.pictures.database import PICTURES_FORM, asking, changing, compact
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.declarations import IndexDeclaration
from nwx.engine.pictures.entries import appearance_from_entry, picture_from_entry
from nwx.engine.pictures.picture_index import (
    PICTURE_WINDOW,
    SIMILAR_BITS,
    Appearance,
    FoundPicture,
    Picture,
    PictureIndex,
    PictureQuestion,
    PictureResult,
    SimilarPicture,
    is_hidden,
)
from nwx.errors import ErrorText, WindowError
from nwx.model import Total
from nwx.query.hidden import NONE_HIDDEN, HiddenDocuments
from nwx.query.picture_words import resolve_picture_query

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class EmbeddedPictureIndex(OwnIndex, PictureIndex):
    """The index pictures in a file beside that of the archive, so that no import is in its way."""

    form = PICTURES_FORM

    def __init__(self, database: OwnDatabase, declared: IndexDeclaration) -> None:
        super().__init__(database, declared)
        self._guard = threading.Lock()
        self._hashes: tuple[int, NDArray[np.int64], NDArray[np.uint64]] | None = None

    def put(self, pictures: Sequence[Picture], appearances: Sequence[Appearance] = ()) -> None:
        if pictures or appearances:
            with changing(self.database) as db:
                rows.put_pictures(db, pictures)
                rows.put_appearances(db, appearances)

    def pictures_of(self, ids: Collection[str]) -> dict[str, Picture]:
        with asking(self.database) as db:
            found = rows.picture_entries_of(db, ids) if db else ()
            return {entry["id"]: picture_from_entry(entry) for entry in found}

    def appearances_at(self, urlkeys: Collection[str]) -> list[Appearance]:
        with asking(self.database) as db:
            found = rows.appearance_entries_at(db, urlkeys) if db else ()
            return [appearance_from_entry(entry) for entry in found]

    def appearance_counts(self, urlkeys: Collection[str]) -> dict[str, int]:
        with asking(self.database) as db:
            return rows.appearance_numbers_at(db, urlkeys) if db else {}

    def search(self, question: PictureQuestion) -> PictureResult:
        if question.offset + question.limit > PICTURE_WINDOW:
            raise WindowError(
                ErrorText(
                    "pictures can be reached up to the %(most)sth",
                    most=PICTURE_WINDOW,
                )
            )
        query = resolve_picture_query(question.query)
        with asking(self.database) as db:
            if db is None:
                return PictureResult(Total(0), ())
            rows.hide(db, question.hidden)
            total = rows.count_found(db, question, query)
            numbers = rows.found_numbers(db, question, query) if question.limit else []
            found = rows.entries_by_number(db, (num for pair in numbers for num in pair))
        return PictureResult(
            Total(total),
            tuple(
                FoundPicture(
                    picture_from_entry(found[picture]),
                    None if entry == picture else appearance_from_entry(found[entry]),
                )
                for picture, entry in numbers
            ),
        )

    def appearances_of(
        self, id: str, limit: int, hidden: HiddenDocuments = NONE_HIDDEN
    ) -> list[Appearance]:
        with asking(self.database) as db:
            if db is None:
                return []
            rows.hide(db, hidden)
            found = map(appearance_from_entry, rows.appearance_entries_of(db, id, hidden))
            return sorted(found, key=lambda one: (one.page_timestamp, one.page))[:limit]

    def similar(
        self,
        hash: int,
        limit: int,
        distance: int = SIMILAR_BITS,
        hidden: HiddenDocuments = NONE_HIDDEN,
    ) -> list[SimilarPicture]:
        with asking(self.database) as db:
            if db is None:
                return []
            found: list[SimilarPicture] = []
            numbers = self._nearest(rows.picture_change(db), db, hash, distance)
            # Those that are hidden are met while going on: most are not.
            for start in range(0, len(numbers), limit):
                chunk = dict(numbers[start : start + limit])
                entries = rows.entries_by_number(db, chunk)
                near = ((picture_from_entry(entries[num]), bits) for num, bits in chunk.items())
                found += [
                    SimilarPicture(one, bits)
                    for one, bits in near
                    if not is_hidden(hidden, one.id, one.timestamp, one.collection)
                ]
                if len(found) >= limit:
                    break
            return found[:limit]

    def _nearest(
        self, change: int, db: sqlite3.Connection, hash: int, distance: int
    ) -> list[tuple[int, int]]:
        """Return the numbers of similar pictures with their distances, the most similar first."""
        # Imported here: sizes of indices are counted without.
        import numpy as np

        with self._guard:
            kept = self._hashes
        if kept is None or kept[0] != change:
            stored = np.array(rows.hashes(db), dtype=np.int64).reshape(-1, 2)
            kept = change, stored[:, 0].copy(), stored[:, 1].copy().view(np.uint64)
            with self._guard:
                self._hashes = kept
        bits = np.bitwise_count(kept[2] ^ np.uint64(hash))
        near = np.flatnonzero(bits <= distance)
        order = near[np.argsort(bits[near], kind="stable")]
        return list(zip(kept[1][order].tolist(), bits[order].tolist(), strict=True))

    def remove(self, ids: Iterable[str]) -> int:
        if not self.is_made():
            return 0
        with changing(self.database) as db:
            return rows.remove_entries(db, ids)

    def clear(self) -> None:
        if self.is_made():
            with changing(self.database) as db:
                for table in ("entries", "measures", "words", "states"):
                    db.execute(f"DELETE FROM {table}")
            compact(self.database)

    def _count(self) -> int:
        with asking(self.database) as db:
            return rows.number_of_entries(db) if db else 0

    def entries(self) -> Iterator[IndexEntry]:
        with asking(self.database) as db:
            if db is not None:
                yield from rows.all_picture_entries(db)
