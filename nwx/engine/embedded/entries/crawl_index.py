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
    specification_entry,
    specification_id,
)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS specifications (
    name TEXT NOT NULL, number INTEGER NOT NULL, version TEXT NOT NULL,
    text TEXT NOT NULL, saved TEXT NOT NULL, PRIMARY KEY (name, number));
-- A version of a crawl that has scores, in tables of its own by its code. `last` is in the
-- order of the last writes.
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
    """The index crawls in a file next to the archive's, so that imports do not block it.

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
            rows = db.execute(_SPECIFICATION + condition, values) if db else ()
            return [StoredSpecification(*row) for row in rows]

    @contextmanager
    def _specifying(self) -> Iterator[sqlite3.Connection]:
        """Give the connection to change specifications, whose checksum is kept."""
        with self.database.writing(DURABLE) as db:
            yield db
            # A number in the head of the file that SQLite leaves to applications.
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
        """Store a specification, replacing the one with its name and number."""
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
            return score_rows.analysed(db, crawl, version, ids) if db else set()

    def analysed_versions(self, crawl: str) -> list[AnalysedVersion]:
        with self.database.reading() as db:
            return score_rows.analysed_versions(db, crawl) if db else []

    def put_scores(self, scores: Sequence[DocumentScore]) -> None:
        if scores:
            # What a power cut takes is analysed again: no disk has to be waited for.
            try:
                with self.database.writing(FAST) as db:
                    score_rows.put_scores(db, scores)
            except UnicodeEncodeError:
                with self.database.writing(FAST) as db:
                    score_rows.put_scores(db, [encodable_score(score) for score in scores])

    def document_scores(self, crawl: str, version: str = "") -> Iterator[DocumentScore]:
        after = ""
        while True:
            with self.database.reading() as db:
                page = score_rows.document_scores(db, crawl, version, after) if db else []
            yield from page
            if len(page) < score_rows.PAGE:
                return
            version, after = page[-1].version, page[-1].document_id

    def score_values(self, crawl: str, version: str = "") -> Iterator[tuple[str, float]]:
        after: int | None = 0
        with self.database.reading() as db:
            analysis = score_rows.analysis_of(db, crawl, version) if db else None
        while analysis is not None and after is not None:
            with self.database.reading() as db:
                page, after = score_rows.score_values(db, analysis, after) if db else ([], None)
            yield from page

    def best_links(
        self, crawl: str, limit: int, offset: int = 0, host: str = "", version: str = ""
    ) -> list[ScoredLink]:
        with self.database.reading() as db:
            if db is None:
                return []
            return score_rows.best_links(db, crawl, version, limit, offset, host)

    def relevances(
        self, crawl: str, version: str, urls: Collection[str]
    ) -> dict[str, float | None]:
        with self.database.reading() as db:
            return score_rows.relevances(db, crawl, version, urls) if db else {}

    def _row_faults(self, db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
        (kept,) = db.execute("PRAGMA application_id").fetchone()
        if kept and kept != _specifications_sum(db):  # older versions keep none
            yield "*", "the specifications are not those that were saved"
        yield from score_rows.score_faults(db)

    def _count(self) -> int:
        with self.database.reading() as db:
            if db is None:
                return 0
            (saved,) = db.execute("SELECT count(*) FROM specifications").fetchone()
            return int(saved) + score_rows.count_scores(db)

    def entries(self) -> Iterator[IndexEntry]:
        with self.database.reading() as db:
            analyses = score_rows.analyses(db) if db else []
        yield from self._pages(analyses, score_rows.link_entries)
        yield from self._pages(analyses, score_rows.score_entries)
        saved = self._specifications("")
        for stored in sorted(saved, key=lambda one: specification_id(one.name, one.number)):
            yield specification_entry(stored)

    def _pages(
        self, analyses: Sequence[score_rows.Analysis], read: score_rows.EntryPage
    ) -> Iterator[IndexEntry]:
        for analysis in analyses:
            after: str | bytes | None = None
            while True:
                with self.database.reading() as db:
                    page, after = read(db, analysis, after) if db else ([], None)
                yield from page
                if after is None:
                    break

    def remove_documents(self, ids: Collection[str], urls: Collection[str]) -> int:
        """Remove the scores of documents, and the links to these URLs or found on them first."""
        if not self.is_made():
            return 0
        with self.database.writing(DURABLE) as db:
            return score_rows.remove_documents(db, ids, urls)
