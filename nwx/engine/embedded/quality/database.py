"""The SQLite file of the index quality: its tables, and connections to it."""

from nwx.engine.embedded.own_database import CACHE_PRAGMA, OwnDatabase

_SCHEMA = """
BEGIN IMMEDIATE;
-- What is sorted, filtered and counted, apart from the rest: these rows are read in their
-- thousands, those of `contents` (packed entries) for what is shown.
CREATE TABLE IF NOT EXISTS scores (
    num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, score REAL NOT NULL,
    collection TEXT NOT NULL, host TEXT NOT NULL, domain TEXT NOT NULL, month TEXT NOT NULL,
    checked TEXT NOT NULL, rules TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS scores_by_score ON scores (score, id);
CREATE INDEX IF NOT EXISTS scores_by_collection ON scores (collection, score, id);
CREATE INDEX IF NOT EXISTS scores_by_host ON scores (host, score, id);
CREATE INDEX IF NOT EXISTS scores_by_domain ON scores (domain, score, id);
CREATE INDEX IF NOT EXISTS scores_by_month ON scores (month, score, id);
CREATE INDEX IF NOT EXISTS scores_by_check ON scores (checked DESC, id);
CREATE TABLE IF NOT EXISTS contents (num INTEGER PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS kinds (
    kind TEXT NOT NULL, score REAL NOT NULL, id TEXT NOT NULL, num INTEGER NOT NULL,
    PRIMARY KEY (kind, score, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS kinds_by_num ON kinds (num);
-- Grows with each change of scores, so that what was counted before can be given again.
CREATE TABLE IF NOT EXISTS changes (number INTEGER NOT NULL);
INSERT INTO changes SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM changes);
CREATE TABLE IF NOT EXISTS states (name TEXT PRIMARY KEY, state BLOB NOT NULL);
PRAGMA user_version = 1;
COMMIT;
"""


class QualityDatabase(OwnDatabase):
    """The file `quality.db` of an archive."""

    name = "quality.db"
    schema = _SCHEMA
    # What a power cut takes is checked again: no disk has to be waited for.
    pragmas = ("synchronous = NORMAL", CACHE_PRAGMA, "journal_size_limit = 67108864")
    read_pragmas = (CACHE_PRAGMA, "mmap_size = 268435456")
