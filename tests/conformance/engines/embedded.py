"""Archives in folders."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from nwx.bulk.whole_files import unsealed_json
from nwx.captures import VALUE_FIELDS, values_of
from nwx.engine.base import Engine, open_engine
from nwx.engine.embedded.captures.blocks import BEGINNING, END
from nwx.engine.embedded.captures.url_lookups import stored_captures
from nwx.settings import Settings

_ROWS = """
CREATE TABLE captures (num INTEGER PRIMARY KEY, source INTEGER NOT NULL, {columns},
    UNIQUE (source, source_file_offset));
"""
_FIRST_FORMAT = """
DROP TABLE IF EXISTS attached;
DROP TABLE runs;
DROP TABLE blocks;
DROP TABLE lookups;
DROP TABLE months;
CREATE INDEX captures_by_urlkey ON captures (urlkey, timestamp);
ALTER TABLE captures ADD COLUMN document_id TEXT;
CREATE TABLE facets (id TEXT PRIMARY KEY, entry TEXT NOT NULL) WITHOUT ROWID;
ALTER TABLE captures DROP COLUMN via;
DELETE FROM counters WHERE name IN ('facets', 'seen_sum', 'columns_sum', 'capture_numbers');
"""


@contextmanager
def new_archive(folder: Path, request: pytest.FixtureRequest) -> Iterator[Callable[[], Engine]]:
    """Yield a function that opens a new archive without indices, any number of times."""
    yield lambda: open_engine(Settings(engine=str(folder / "archive")))


@contextmanager
def recycled_archive(folder: Path, request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Yield an empty open archive: a new one, as that takes no time in a folder."""
    with open_engine(Settings(engine=str(folder / "archive"))) as engine:
        engine.create()
        yield engine


def make_capture_rows(db: sqlite3.Connection) -> None:
    """Store the captures of an archive in rows, as before format 5."""
    columns = VALUE_FIELDS[2:]
    db.executescript(_ROWS.format(columns=", ".join(columns)))
    codes = {
        (collection, name): code
        for code, collection, name in db.execute("SELECT code, collection, name FROM sources")
    }
    captures = list(stored_captures(db, BEGINNING, END))
    db.executemany(
        f"INSERT INTO captures VALUES (NULL, ?{', ?' * len(columns)})",
        [(codes[row[:2]], *row[2:]) for row in values_of(captures)],
    )


def make_older(engine: Engine) -> None:
    """Downgrade a closed archive to the first version, without facets and crawls."""
    folder = Path(engine.address)
    with closing(sqlite3.connect(folder / "archive.sqlite")) as db:
        make_capture_rows(db)
        db.executescript(_FIRST_FORMAT)
    mappings = dict.fromkeys(("documents", "dates", "captures", "files"), 1)
    _change_manifest(folder, format=1, mappings=mappings)


def empty_queue(engine: Engine) -> None:
    """Remove all URLs, hosts and updates from the queue of an open archive."""
    path = Path(engine.address) / "queue.db"
    if path.exists():
        with closing(sqlite3.connect(path)) as db, db:
            for table in ("urls", "host_queues", "hosts", "crawls", "outbox"):
                db.execute(f"DELETE FROM {table}")


def make_newer(engine: Engine) -> None:
    """Mark a closed archive as one of a future version."""
    _change_manifest(Path(engine.address), format=99)


def _change_manifest(folder: Path, **changes: Any) -> None:
    manifest = folder / "nwx.json"
    manifest.write_text(json.dumps(unsealed_json(manifest.read_text()) | changes))


def stored_files(engine: Engine, *, access: bool) -> Iterator[Path]:
    """Yield all files of an open archive, those of the access index only with `access`."""
    for path in Path(engine.address).rglob("*"):
        if path.is_file() and (access or not path.name.startswith("access.db")):
            yield path
