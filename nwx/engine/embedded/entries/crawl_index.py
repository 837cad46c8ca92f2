"""The index crawls of an archive in a folder."""

import sqlite3
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager

from nwx.engine.embedded.entries import crawl_scores as score_rows
from nwx.engine.embedded.entries.own_database import (
    CACHE_PRAGMA,
    DURABLE,
    FAST,
    JOURNAL_PRAGMA,
    DatabaseForm,
    OwnIndex,
)
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.crawl_index import (
    AnalysedVersion,
    CrawlIndex,
    DocumentScore,
    ScoredLink,
    StoredSpecification,
    encodable_score,
    score_entry,
    specification_entry,
    specification_id,
)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS specifications (
    name TEXT NOT NULL, number INTEGER NOT NULL, version TEXT NOT NULL,
    text TEXT NOT NULL, saved TEXT NOT NULL, PRIMARY KEY (name, number));
-- Versions of crawls that have scores, each in its own tables, named by its code. `last` orders
-- them by their last write.
CREATE TABLE IF NOT EXISTS analyses (
    code INTEGER PRIMARY KEY AUTOINCREMENT, crawl TEXT NOT NULL, version TEXT NOT NULL,
    last INTEGER NOT NULL, documents INTEGER NOT NULL, urls INTEGER NOT NULL,
    UNIQUE (crawl, version));
"""


CRAWLS_FORM = DatabaseForm(
    "crawls.db",
    _SCHEMA,
    ("wal_autocheckpoint = 16384", JOURNAL_PRAGMA, CACHE_PRAGMA),
    (CACHE_PRAGMA,),
    keeps_reader=True,
)


_SPECIFICATION = "SELECT name, version, text, saved, number FROM specifications "
_LAST = "number = (SELECT max(number) FROM specifications AS other WHERE other.name = {}.name)"


def _specifications_sum(db: sqlite3.Connection) -> int:
    rows = db.execute(f"{_SPECIFICATION} ORDER BY name, number").fetchall()
    return zlib.crc32(repr(rows).encode("utf-8", "surrogatepass")) & 0x7FFFFFFF or 1


class EmbeddedCrawlIndex(OwnIndex, CrawlIndex):
    """The index crawls in a separate file, so that imports do not block it.

    A write waits for a write of another process.
    """

    form = CRAWLS_FORM

    def specifications(self) -> list[StoredSpecification]:
        return self._specifications(f"WHERE {_LAST.format('specifications')} ORDER BY name")

    def specification(
        self, name: str, version: str = "", number: int | None = None
    ) -> StoredSpecification | None:
        found = self._specifications(
            "WHERE name = ? AND ? IN ('', version) AND coalesce(?, number) = number"
            " ORDER BY number DESC LIMIT 1",
            (name, version, number),
        )
        return found[0] if found else None

    def versions(self, name: str) -> list[StoredSpecification]:
        return self._specifications("WHERE name = ? ORDER BY number DESC", (name,))

    def _specifications(
        self, condition: str, values: Sequence[object] = ()
    ) -> list[StoredSpecification]:
        with self.database.reading() as db:
            rows = db.execute(_SPECIFICATION + condition, values)
            return [StoredSpecification(*row) for row in rows]

    @contextmanager
    def _specifying(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection to change specifications, and update their checksum."""
        with self.database.writing(DURABLE) as db:
            yield db
            # A number in the header of the file that SQLite reserves for applications.
            db.execute(f"PRAGMA application_id = {_specifications_sum(db)}")

    def _added(self, stored: StoredSpecification) -> bool:
        with self._specifying() as db:
            added = db.execute(
                "INSERT OR IGNORE INTO specifications (name, version, text, saved, number)"
                " VALUES (?, ?, ?, ?, ?)",
                (stored.name, stored.version, stored.text, stored.saved, stored.number),
            )
            return added.rowcount > 0

    def replace_specification(self, stored: StoredSpecification) -> None:
        with self._specifying() as db:
            db.execute(
                "UPDATE specifications SET text = ?, version = ? WHERE name = ? AND number = ?",
                (stored.text, stored.version, stored.name, stored.number),
            )

    def remove_specification(self, name: str) -> bool:
        if not self.is_made():
            return False
        with self._specifying() as db:
            removed = db.execute("DELETE FROM specifications WHERE name = ?", (name,)).rowcount
            analyses = score_rows.remove_analyses(db, name)
        return bool(removed or analyses)

    def analysed(self, crawl: str, version: str, ids: Collection[str]) -> set[str]:
        with self.database.reading() as db:
            return score_rows.analysed(db, crawl, version, ids)

    def analysed_versions(self, crawl: str) -> list[AnalysedVersion]:
        command = "SELECT version, documents, urls FROM analyses WHERE crawl = ? ORDER BY last DESC"
        with self.database.reading() as db:
            return [AnalysedVersion(*row) for row in db.execute(command, (crawl,))]

    def put_scores(self, scores: Sequence[DocumentScore]) -> None:
        if scores:
            # Scores lost in a power cut are computed again, so writes need not wait for the disk.
            try:
                with self.database.writing(FAST) as db:
                    score_rows.put_scores(db, scores)
            except UnicodeEncodeError:
                with self.database.writing(FAST) as db:
                    score_rows.put_scores(db, [encodable_score(score) for score in scores])

    def document_scores(self, crawl: str, version: str = "") -> Iterator[DocumentScore]:
        with self.database.streaming() as db:
            if analysis := score_rows.analysis_of(db, crawl, version):
                yield from score_rows.document_scores(db, analysis)

    def score_values(self, crawl: str, version: str = "") -> Iterator[tuple[str, float]]:
        with self.database.streaming() as db:
            if analysis := score_rows.analysis_of(db, crawl, version):
                yield from db.execute(f"SELECT document_id, score FROM scores_{analysis.code}")

    def best_links(
        self, crawl: str, limit: int, offset: int = 0, host: str = "", version: str = ""
    ) -> list[ScoredLink]:
        with self.database.reading() as db:
            if analysis := score_rows.analysis_of(db, crawl, version):
                return score_rows.best_links(db, analysis, limit, offset, host)
            return []

    def relevances(
        self, crawl: str, version: str, urls: Collection[str]
    ) -> dict[str, float | None]:
        with self.database.reading() as db:
            return score_rows.relevances(db, crawl, version, urls)

    def _row_faults(self, db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
        (kept,) = db.execute("PRAGMA application_id").fetchone()
        if kept and kept != _specifications_sum(db):  # older versions store none
            yield "*", "the specifications are not those that were saved"
        yield from score_rows.score_faults(db)

    def _count(self) -> int:
        command = (
            "SELECT (SELECT count(*) FROM specifications)"
            " + (SELECT coalesce(sum(documents + urls), 0) FROM analyses)"
        )
        with self.database.reading() as db:
            return int(db.execute(command).fetchone()[0])

    def entries(self) -> Iterator[IndexEntry]:
        with self.database.streaming() as db:
            analyses = score_rows.analyses(db)
            for analysis in analyses:
                yield from score_rows.link_entries(db, analysis)
            for analysis in analyses:
                yield from map(score_entry, score_rows.document_scores(db, analysis))
        saved = self._specifications("")
        for stored in sorted(saved, key=lambda one: specification_id(one.name, one.number)):
            yield specification_entry(stored)

    def remove_documents(self, ids: Collection[str], urls: Collection[str]) -> int:
        if not self.is_made():
            return 0
        with self.database.writing(DURABLE) as db:
            return score_rows.remove_documents(db, ids, urls)
