"""The index quality of an archive in a folder."""

import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager

from cachetools import LRUCache

from nwx.engine.embedded.quality import rows
from nwx.engine.embedded.quality.database import QualityDatabase
from nwx.engine.entries import IndexEntry
from nwx.engine.quality.entries import quality_entry, quality_from_entry
from nwx.engine.quality.quality_index import (
    EVERY_SCORE,
    PlaybackScore,
    QualityFilter,
    QualityIndex,
    QualityOrder,
    QualityTotals,
)
from nwx.model import IndexStats

_TOTALS_KEPT = 64


class EmbeddedQualityIndex(QualityIndex):
    """The index quality in a file beside that of the archive, so that no import is in its way."""

    def __init__(self, database: QualityDatabase) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._counted: LRUCache[tuple[int, QualityFilter], QualityTotals] = LRUCache(_TOTALS_KEPT)

    def put(self, scores: Sequence[PlaybackScore]) -> None:
        entries = [quality_entry(score) for score in scores]
        if entries:
            with self._database.writing() as db:
                rows.put_entries(db, entries)

    def score(self, id: str) -> PlaybackScore | None:
        return self.scores_of([id]).get(id)

    def scores_of(self, ids: Collection[str]) -> dict[str, PlaybackScore]:
        with self._database.reading() as db:
            found = rows.score_entries_of(db, ids) if db else ()
            return {entry["id"]: quality_from_entry(entry) for entry in found}

    def scores(
        self,
        wanted: QualityFilter,
        limit: int,
        offset: int = 0,
        order: str = QualityOrder.WORST,
    ) -> list[PlaybackScore]:
        with self._database.reading() as db:
            if db is None:
                return []
            found = rows.found_entries(db, wanted, order, limit, offset)
            return [quality_from_entry(entry) for entry in found]

    def scan(
        self, wanted: QualityFilter = EVERY_SCORE, order: str = QualityOrder.WORST
    ) -> Iterator[PlaybackScore]:
        with self._database.reading() as db:
            if db is not None:
                yield from map(quality_from_entry, rows.found_entries(db, wanted, order))

    def checked(self, ids: Collection[str], rules: str) -> set[str]:
        with self._database.reading() as db:
            return rows.checked_ids(db, ids, rules) if db else set()

    def totals(self, wanted: QualityFilter = EVERY_SCORE) -> QualityTotals:
        with self._database.reading() as db:
            if db is None:
                return QualityTotals()
            key = rows.change_number(db), wanted
            with self._guard:
                counted = self._counted.get(key)
            if counted is None:
                counted = rows.quality_totals(db, wanted)
                with self._guard:
                    self._counted[key] = counted
            return counted

    def remove(self, ids: Collection[str]) -> int:
        if not self._database.path.exists():
            return 0
        with self._database.writing() as db:
            return rows.remove_scores(db, ids)

    def put_state(self, name: str, state: bytes) -> None:
        with self._database.writing() as db:
            db.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (name, state))

    def state(self, name: str) -> bytes | None:
        with self._database.reading() as db:
            command = "SELECT state FROM states WHERE name = ?"
            row = db.execute(command, (name,)).fetchone() if db else None
        return None if row is None else bytes(row[0])

    def states(self) -> list[str]:
        with self._database.reading() as db:
            found = db.execute("SELECT name FROM states ORDER BY name") if db else ()
            return [name for (name,) in found]

    def count(self) -> int:
        """Return the number of scores."""
        with self._database.reading() as db:
            return rows.number_of_scores(db) if db else 0

    def stats(self) -> IndexStats:
        """Return the size of the index, states included."""
        return IndexStats(self.count(), self._database.stored_bytes())

    def entries(self) -> Iterator[IndexEntry]:
        """Stream all scores, as in the mapping, in the order of their ids."""
        with self._database.reading() as db:
            if db is not None:
                yield from rows.all_entries(db)

    def erasing(self) -> AbstractContextManager[sqlite3.Connection | None]:
        """Give the connection outside of a transaction, None where there is no file."""
        return self._database.erasing()

    def close(self) -> None:
        """Let go of the file; what is asked later opens it again."""
        self._database.close()
