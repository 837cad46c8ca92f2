"""Pairs of digests in a folder: their order, and files of the first format."""

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nwx.engine.base import Engine, open_engine
from nwx.engine.embedded.entries import own_database
from nwx.engine.embedded.entries.store import pack_entry
from nwx.model import IndexName
from nwx.settings import Settings
from nwx.values.digests import digest_of

CHANCE = random.Random(5)
DIGESTS = [
    *(digest_of("sha1", CHANCE.randbytes(20)) for _ in range(1_200)),
    *(digest_of("sha256", CHANCE.randbytes(32)) for _ in range(300)),
]
OLDER = """
CREATE TABLE entries (num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE);
CREATE TABLE contents (num INTEGER PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE changes (number INTEGER NOT NULL); INSERT INTO changes VALUES (2);
CREATE TABLE states (name TEXT PRIMARY KEY, state BLOB NOT NULL);
INSERT INTO states VALUES ('kept', CAST('1' AS BLOB)), ('_count', CAST('2 1500' AS BLOB));
PRAGMA user_version = 1;"""


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    with open_engine(Settings(engine=str(tmp_path / "archive"))) as opened:
        opened.create()
    return open_engine(Settings(engine=str(tmp_path / "archive")))


def test_entries_are_in_the_order_of_their_texts(engine: Engine) -> None:
    with engine:
        engine.digests.add((one, "md5:" + "0" * 32) for one in DIGESTS)
        store = engine.entry_store(IndexName.DIGESTS)
        ids = [entry["id"] for entry in store.find()]
        assert ids == sorted(DIGESTS)
        assert [entry["id"] for entry in store.find(limit=3, offset=2)] == ids[2:5]
        assert store.count() == len(ids) == len(engine.digests.further("md5:" + "0" * 32))
        assert engine.digests.remove(["md5:" + "0" * 32]) == len(ids)
        assert store.count() == 0


def test_files_of_the_first_format_are_read_and_brought_forward(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "archive" / "digests.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.executescript(OLDER)
        for num, id in enumerate(DIGESTS):
            content = pack_entry({"id": id, "digests": [f"md5:{num:032x}"]})
            db.execute("INSERT INTO entries VALUES (?, ?)", (num, id))
            db.execute("INSERT INTO contents VALUES (?, ?)", (num, content))
    copied = []
    copy = own_database.OwnDatabase._brought_forward
    monkeypatch.setattr(
        own_database.OwnDatabase,
        "_brought_forward",
        lambda *given: copied.append(1) or copy(*given),
    )
    with engine:
        index, wanted = engine.digests, {one: f"md5:{n:032x}" for n, one in enumerate(DIGESTS)}
        assert index.is_kept()
        assert all(index.same(one) == (one, known) for one, known in wanted.items())
        assert len(copied) == 1  # once, not for each look-up
        index.add([(DIGESTS[0], "md5:" + "f" * 32)])
        assert dict(index.pairs()) == {**wanted, DIGESTS[0]: "md5:" + "f" * 32}
        assert index.further(wanted[DIGESTS[1]]) == [DIGESTS[1]]
        with closing(sqlite3.connect(path)) as db:
            assert db.execute("PRAGMA user_version").fetchone() == (2,)
