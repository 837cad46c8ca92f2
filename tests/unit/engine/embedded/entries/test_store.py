"""Files of small entries in an older format can be read, and are upgraded on the first write."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nwx.engine.access.access_index import ChangeKind
from nwx.engine.access.rules import AccessRule, Action, Scope
from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import EngineError
from nwx.model import IndexName

OLDER = """
CREATE TABLE rules (id TEXT PRIMARY KEY, entry TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE changes (number INTEGER PRIMARY KEY AUTOINCREMENT, entry TEXT NOT NULL);
CREATE TRIGGER changes_stay BEFORE UPDATE ON changes
    BEGIN SELECT RAISE(ABORT, 'the log of access rules cannot be changed'); END;
CREATE TRIGGER changes_are_kept BEFORE DELETE ON changes
    BEGIN SELECT RAISE(ABORT, 'the log of access rules cannot be deleted'); END;
CREATE TABLE marks (mark TEXT NOT NULL);
INSERT INTO marks VALUES ('0011aabbccdd');
CREATE TABLE states (name TEXT PRIMARY KEY, state BLOB NOT NULL);
INSERT INTO states VALUES ('kept', X'6279746573');
PRAGMA user_version = 1;
"""
RULE = {"rule": "r1", "action": "exclude", "url": "http://a.test/", "made_at": "20260102030405"}
ADDED = {"kind": "change", "change": "added", "at": "20260102030405", "by": "anna", **RULE}


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """An archive with two changes of a rule in a file of format 1."""
    folder = tmp_path / "archive"
    with EmbeddedEngine(folder) as engine:
        engine.create()
    with closing(sqlite3.connect(folder / "access.db")) as db:
        db.executescript(OLDER)
        entry = json.dumps({"id": "rule/r1", "kind": "rule", **RULE})
        db.execute("INSERT INTO rules VALUES ('r1', ?)", (entry,))
        for change in (ADDED, {**ADDED, "change": "changed"}):
            db.execute("INSERT INTO changes (entry) VALUES (?)", (json.dumps(change),))
        db.commit()
    return folder


@pytest.mark.parametrize("read_only", [True, False])
def test_rules_of_an_older_file_are_read(older: Path, *, read_only: bool) -> None:
    before = (older / "access.db").read_bytes()
    with EmbeddedEngine(older, read_only=read_only) as engine:
        access = engine.access_index()
        assert access.version() == "0011aabbccdd-2"
        assert [rule.id for rule in access.rules().rules] == ["r1"]
        assert [one.kind for one in access.changes(9)] == [ChangeKind.CHANGED, ChangeKind.ADDED]
        assert access.state("kept") == b"bytes"
        assert engine.count(IndexName.ACCESS) == 3
    assert (older / "access.db").read_bytes() == before


def test_an_older_file_is_brought_forward_when_it_is_written(older: Path) -> None:
    with EmbeddedEngine(older, read_only=True) as reader, EmbeddedEngine(older) as engine:
        assert len(reader.access_index().rules().rules) == 1
        engine.access_index().put(
            [AccessRule("", Action.ALLOW, Scope(url="http://b.test/"))], "ben"
        )
        assert len(reader.access_index().rules().rules) == 2
        assert [one.by for one in reader.access_index().changes(9)] == ["ben", "anna", "anna"]
        assert reader.access_index().version() == "0011aabbccdd-3"
        assert engine.access_index().remove(["r1"], "carl") == 1
        assert [one.by for one in reader.access_index().changes(1)] == ["carl"]


def test_the_log_stays(older: Path) -> None:
    with EmbeddedEngine(older) as engine:
        engine.access_index().remove(["r1"], "ben")
        log = [entry["id"] for entry in engine.scan(IndexName.ACCESS)]
        assert len(log) == 3
        with pytest.raises(EngineError, match="the log of the index access stays as it is"):
            engine.entry_store(IndexName.ACCESS).delete(log[:1])
        assert engine.count(IndexName.ACCESS) == 3
