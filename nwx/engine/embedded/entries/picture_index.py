"""The index pictures of an archive in a folder."""

import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nwx.engine.document_index import current_work
from nwx.engine.embedded.entries import picture_rows
from nwx.engine.embedded.entries.own_database import (
    CACHE_PRAGMA,
    FAST,
    JOURNAL_PRAGMA,
    STATES_TABLE,
    DatabaseForm,
    OwnDatabase,
    OwnIndex,
    note_count,
)
from nwx.engine.embedded.entries.store import unpack_entry
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.declarations import IndexDeclaration
from nwx.engine.indices.picture_index import (
    SIMILAR_BITS,
    Appearance,
    FoundPicture,
    Picture,
    PictureIndex,
    PictureQuestion,
    PictureResult,
    SimilarPicture,
    appearance_from_entry,
    checked_query,
    is_hidden,
    picture_from_entry,
)
from nwx.engine.sqlite_files import among
from nwx.model import Total
from nwx.query.question import NONE_HIDDEN, HiddenDocuments

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


_CHECKED_STEPS = 10_000
_CONTENT = "SELECT content FROM entries"
_HASHES = "SELECT num, hash FROM measures WHERE hash IS NOT NULL ORDER BY area DESC, id"

_SCHEMA = """
-- Pictures (page '') and appearances; `picture` is the number of the picture's entry: its own, or
-- that of the version shown by the page, 0 if the archive has none.
CREATE TABLE IF NOT EXISTS entries (
    num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, picture INTEGER NOT NULL,
    page TEXT NOT NULL, page_timestamp TEXT NOT NULL, page_collection TEXT NOT NULL,
    urlkey TEXT NOT NULL, content BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS entries_by_picture ON entries (picture);
CREATE INDEX IF NOT EXISTS entries_by_page ON entries (page) WHERE page <> '';
CREATE INDEX IF NOT EXISTS appearances_by_urlkey ON entries (urlkey) WHERE page <> '';
-- Columns for filters and orders; `colours` has a bit for each colour.
CREATE TABLE IF NOT EXISTS measures (
    num INTEGER PRIMARY KEY, id TEXT NOT NULL, host TEXT NOT NULL, domain TEXT NOT NULL,
    content_type TEXT NOT NULL, timestamp TEXT NOT NULL, collection TEXT NOT NULL,
    long_side INTEGER NOT NULL, area INTEGER NOT NULL, colours INTEGER NOT NULL, hash INTEGER);
CREATE INDEX IF NOT EXISTS measures_by_area ON measures (area DESC, id);
-- The words of entries that belong to a picture; `every` is in each entry, so that queries can
-- exclude words.
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    alt_words, title_words, anchor_words, name_words, around_words, every,
    tokenize = "unicode61 remove_diacritics 0", columnsize = 1);
-- Incremented by each change, so that readers know whether their caches are current.
CREATE TABLE IF NOT EXISTS changes (number INTEGER NOT NULL);
INSERT INTO changes SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM changes);
"""


PICTURES_FORM = DatabaseForm(
    "pictures.db",
    _SCHEMA + picture_rows.POSITIONS_TABLE + STATES_TABLE,
    # Data lost in a power cut is built again, so commits need not wait for the disk.
    ("secure_delete = 1", FAST, CACHE_PRAGMA, JOURNAL_PRAGMA),
    (CACHE_PRAGMA, "mmap_size = 268435456"),
    # This removes the words of deleted entries from the full-text index.
    before_erasing="INSERT INTO words (words) VALUES ('optimize')",
)


@contextmanager
def changing(database: OwnDatabase) -> Iterator[sqlite3.Connection]:
    """Yield the connection for one change, and count the change."""
    with database.writing() as db:
        yield db
        db.execute("UPDATE changes SET number = number + 1")


@contextmanager
def asking(database: OwnDatabase) -> Iterator[sqlite3.Connection]:
    """Yield a reading connection, interrupted (QuestionTimeoutError) when the question ends."""
    work = current_work()
    with database.reading() as db:
        db.set_progress_handler(lambda: work.is_over, _CHECKED_STEPS)
        try:
            yield db
        except sqlite3.OperationalError:
            work.check()
            raise


def compact(database: OwnDatabase) -> None:
    """Rewrite the file without deleted data."""
    with database.erasing() as db:
        if db is not None:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


class EmbeddedPictureIndex(OwnIndex, PictureIndex):
    """The index pictures in a separate file, so that imports do not block it."""

    form = PICTURES_FORM
    counted = "entries"

    def __init__(self, database: OwnDatabase, declared: IndexDeclaration) -> None:
        super().__init__(database, declared)
        self._guard = threading.Lock()
        self._hashes: tuple[int, NDArray[np.int64], NDArray[np.uint64]] | None = None

    def put(self, pictures: Sequence[Picture], appearances: Sequence[Appearance] = ()) -> None:
        if pictures or appearances:
            with changing(self.database) as db:
                picture_rows.put_pictures(db, pictures)
                picture_rows.put_appearances(db, appearances)

    def pictures_of(self, ids: Collection[str]) -> dict[str, Picture]:
        with asking(self.database) as db:
            found = among(db, f"{_CONTENT} WHERE page = '' AND id IN ({{}})", ids)
            pictures = [picture_from_entry(unpack_entry(content)) for (content,) in found]
        return {one.id: one for one in pictures}

    def appearances_at(self, urlkeys: Collection[str]) -> list[Appearance]:
        with asking(self.database) as db:
            found = among(db, f"{_CONTENT} WHERE page <> '' AND urlkey IN ({{}})", urlkeys)
            return [appearance_from_entry(unpack_entry(content)) for (content,) in found]

    def appearance_counts(self, urlkeys: Collection[str]) -> dict[str, int]:
        command = (
            "SELECT urlkey, count(*) FROM entries WHERE page <> '' AND urlkey IN ({})"
            " GROUP BY urlkey"
        )
        with asking(self.database) as db:
            return dict(among(db, command, urlkeys))

    def search(self, question: PictureQuestion) -> PictureResult:
        query = checked_query(question)
        with asking(self.database) as db:
            picture_rows.hide(db, question.hidden)
            total = picture_rows.count_found(db, question, query)
            numbers = picture_rows.found_numbers(db, question, query) if question.limit else []
            found = picture_rows.entries_by_number(db, (num for pair in numbers for num in pair))
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
            picture_rows.hide(db, hidden)
            found = map(appearance_from_entry, picture_rows.appearance_entries_of(db, id, hidden))
            return sorted(found, key=lambda one: (one.page_timestamp, one.page))[:limit]

    def similar(
        self, hash: int, limit: int, hidden: HiddenDocuments = NONE_HIDDEN
    ) -> list[SimilarPicture]:
        with asking(self.database) as db:
            found: list[SimilarPicture] = []
            numbers = self._nearest(db, hash)
            # Hidden pictures are skipped on the way, as most are not hidden.
            for start in range(0, len(numbers), limit):
                chunk = dict(numbers[start : start + limit])
                entries = picture_rows.entries_by_number(db, chunk)
                near = ((picture_from_entry(entries[num]), bits) for num, bits in chunk.items())
                found += [
                    SimilarPicture(one, bits)
                    for one, bits in near
                    if not is_hidden(hidden, one.id, one.timestamp, one.collection)
                ]
                if len(found) >= limit:
                    break
            return found[:limit]

    def _nearest(self, db: sqlite3.Connection, hash: int) -> list[tuple[int, int]]:
        """Return the numbers of similar pictures with their distances, the most similar first."""
        # Imported here: counting the sizes of indices does not need it.
        import numpy as np

        (change,) = db.execute("SELECT number FROM changes").fetchone()
        with self._guard:
            kept = self._hashes
        if kept is None or kept[0] != change:
            hashes = db.execute(_HASHES).fetchall()
            stored = np.array(hashes, dtype=np.int64).reshape(-1, 2)
            kept = change, stored[:, 0].copy(), stored[:, 1].copy().view(np.uint64)
            with self._guard:
                self._hashes = kept
        bits = np.bitwise_count(kept[2] ^ np.uint64(hash))
        near = np.flatnonzero(bits <= SIMILAR_BITS)
        order = near[np.argsort(bits[near], kind="stable")]
        return list(zip(kept[1][order].tolist(), bits[order].tolist(), strict=True))

    def remove(self, ids: Iterable[str]) -> int:
        if not self.is_made():
            return 0
        with changing(self.database) as db:
            removed = picture_rows.remove_entries(db, ids)
        with self.database.writing() as db:
            note_count(db, self.counted)
        return removed

    def clear(self) -> None:
        if self.is_made():
            with changing(self.database) as db:
                db.execute(picture_rows.POSITIONS_TABLE)
                for table in ("entries", "measures", "positions", "words", "states"):
                    db.execute(f"DELETE FROM {table}")
            compact(self.database)

    def _row_faults(self, db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
        return picture_rows.picture_faults(db)

    def _count(self) -> int:
        with asking(self.database) as db:
            return int(db.execute("SELECT count(*) FROM entries").fetchone()[0])

    def entries(self) -> Iterator[IndexEntry]:
        with asking(self.database) as db:
            for (content,) in db.execute(f"{_CONTENT} ORDER BY id"):
                yield unpack_entry(content)
