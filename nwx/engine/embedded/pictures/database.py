"""The SQLite file of the index pictures: its tables, and connections to it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from nwx.engine.embedded.entries.own_database import (
    CACHE_PRAGMA,
    FAST,
    JOURNAL_PRAGMA,
    STATES_TABLE,
    DatabaseForm,
    OwnDatabase,
)
from nwx.engine.work import Work, current_work

_CHECKED_STEPS = 10_000

_SCHEMA = """
-- Pictures (page '') and appearances; `picture` is the number of a picture's entry, its own or
-- that of the version that a page shows, 0 where the archive has none.
CREATE TABLE IF NOT EXISTS entries (
    num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, picture INTEGER NOT NULL,
    page TEXT NOT NULL, page_timestamp TEXT NOT NULL, page_collection TEXT NOT NULL,
    urlkey TEXT NOT NULL, content BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS entries_by_picture ON entries (picture);
CREATE INDEX IF NOT EXISTS entries_by_page ON entries (page) WHERE page <> '';
CREATE INDEX IF NOT EXISTS appearances_by_urlkey ON entries (urlkey) WHERE page <> '';
-- What is filtered and sorted by; `colours` has a bit for each.
CREATE TABLE IF NOT EXISTS measures (
    num INTEGER PRIMARY KEY, id TEXT NOT NULL, host TEXT NOT NULL, domain TEXT NOT NULL,
    content_type TEXT NOT NULL, timestamp TEXT NOT NULL, collection TEXT NOT NULL,
    long_side INTEGER NOT NULL, area INTEGER NOT NULL, colours INTEGER NOT NULL, hash INTEGER);
CREATE INDEX IF NOT EXISTS measures_by_area ON measures (area DESC, id);
-- The words of entries that belong to a picture; `every` is in all, so that what is
-- without a word can be asked for too.
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    alt_words, title_words, anchor_words, name_words, around_words, every,
    tokenize = "unicode61 remove_diacritics 0", columnsize = 1);
-- Grows with each change, so that what was read before can be kept.
CREATE TABLE IF NOT EXISTS changes (number INTEGER NOT NULL);
INSERT INTO changes SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM changes);
"""


PICTURES_FORM = DatabaseForm(
    "pictures.db",
    _SCHEMA + STATES_TABLE,
    # What a power cut takes is built again: no disk has to be waited for.
    ("secure_delete = 1", FAST, CACHE_PRAGMA, JOURNAL_PRAGMA),
    (CACHE_PRAGMA, "mmap_size = 268435456"),
    # The words of what was deleted are out of the index of words then.
    before_erasing="INSERT INTO words (words) VALUES ('optimize')",
)


@contextmanager
def _interrupted(db: sqlite3.Connection, work: Work) -> Iterator[None]:
    """Stop what a connection does once a question is over; raises QuestionTimeoutError."""
    db.set_progress_handler(lambda: work.is_over, _CHECKED_STEPS)
    try:
        yield
    except sqlite3.OperationalError:
        work.check()
        raise


@contextmanager
def changing(database: OwnDatabase) -> Iterator[sqlite3.Connection]:
    """Give the connection for one change, which is counted."""
    with database.writing() as db:
        yield db
        db.execute("UPDATE changes SET number = number + 1")


@contextmanager
def asking(database: OwnDatabase) -> Iterator[sqlite3.Connection | None]:
    """Give a connection that reads; what it does ends with the question."""
    with database.reading() as db:
        if db is None:
            yield None
            return
        with _interrupted(db, current_work()):
            yield db


def compact(database: OwnDatabase) -> None:
    """Write the file anew without what was deleted, so that its bytes are gone."""
    with database.erasing() as db:
        if db is not None:
            db.execute("VACUUM")
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
