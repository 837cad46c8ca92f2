"""The steps that bring a folder forward: in order, all or none, taken again where interrupted."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from nwx.engine.base import Migration, pending_migrations
from nwx.engine.capture_index import CdxSpan
from nwx.engine.embedded import EmbeddedEngine, folder, migrations
from nwx.engine.embedded.migrations import MIGRATIONS
from nwx.model import IndexName
from tests.conformance.engines.embedded import make_older
from tests.unit.engine.embedded.making import batch, page


@pytest.fixture
def older(tmp_path: Path) -> Path:
    with EmbeddedEngine(tmp_path / "a") as engine:
        engine.write(batch(page(1), page(2)))
    make_older(engine)
    return tmp_path / "a"


def format_of(archive: Path) -> int:
    found: int = json.loads((archive / "nwx.json").read_text())["format"]
    return found


def tables_of(archive: Path) -> set[str]:
    with closing(sqlite3.connect(archive / "archive.sqlite")) as db:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_master")}


def test_the_format_is_the_number_of_the_last_step() -> None:
    assert [one.number for one in MIGRATIONS] == list(range(2, folder.FORMAT + 1))
    assert all(one.what for one in MIGRATIONS)


def test_only_steps_that_were_not_taken_are_pending() -> None:
    steps = tuple(Migration(number, "x", print) for number in (3, 2, 4))
    assert [one.number for one in pending_migrations(steps, 2)] == [3, 4]
    assert pending_migrations(steps, 4) == ()


def test_reading_changes_nothing(older: Path) -> None:
    with EmbeddedEngine(older, read_only=True) as engine:
        assert engine.count(IndexName.DOCUMENTS) == 2
        assert [one.via for one in engine.captures_by_digest(page(1).capture.digest)] == [""]
        assert len(list(engine.scan(IndexName.CAPTURES))) == 2
    assert format_of(older) == 1


def test_writing_takes_the_steps(older: Path) -> None:
    assert {"facets"} <= tables_of(older)
    with EmbeddedEngine(older) as engine:
        engine.create()
        assert [one.via for one in engine.captures(page(1).capture.urlkey)] == [""]
    assert format_of(older) == folder.FORMAT
    assert {"attached", "cdx_lines", "digests"} <= tables_of(older)
    assert not {"facets", "captures_by_urlkey"} & tables_of(older)


def test_a_step_is_taken_again_where_the_process_was_killed_behind_it(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder.Folder, "write_manifest", lambda self: None)
    for _ in range(2):
        with EmbeddedEngine(older) as engine:
            engine.create()
        assert format_of(older) == 1
    monkeypatch.undo()
    with EmbeddedEngine(older) as engine:
        engine.create()
        assert len(list(engine.captures("org,", "org-"))) == 2
    assert format_of(older) == folder.FORMAT


def test_a_reader_that_is_open_meanwhile_goes_on_with_what_is_new(older: Path) -> None:
    with EmbeddedEngine(older, read_only=True) as reader:
        assert reader.has_keys(["org,"])
        with EmbeddedEngine(older) as engine:
            engine.write(batch(page(3)))
        assert [one.url for one in reader.captures_by_digest(page(3).capture.digest)]
        assert len(list(reader.cdx_rows(CdxSpan("org,", "org-")))) == 3


def test_steps_that_fail_change_nothing(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(db: sqlite3.Connection) -> None:
        raise RuntimeError("stopped")

    before = tables_of(older)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*MIGRATIONS, Migration(9, "fails", fail)))
    with pytest.raises(RuntimeError, match="stopped"), EmbeddedEngine(older) as engine:
        engine.create()
    assert format_of(older) == 1
    assert {"facets"} <= tables_of(older) and "attached" not in before
    monkeypatch.undo()
    with EmbeddedEngine(older) as engine:
        engine.create()
        assert engine.count(IndexName.DOCUMENTS) == 2
    assert format_of(older) == folder.FORMAT
