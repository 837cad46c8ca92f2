"""Data in SQLite as records and as entries."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from nwx.engine.embedded import reader
from nwx.engine.embedded.database import connect, make_tables
from nwx.engine.embedded.engine import EmbeddedEngine
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.reader import SharedConnection
from nwx.engine.embedded.registry import Registry
from nwx.engine.embedded.staged_rows import capture_rows, dates_rows
from nwx.errors import EngineError
from nwx.keys import document_id
from nwx.model import Dates, IndexName
from tests.unit.engine.embedded.making import batch, page

PAGES = [page(number).capture for number in (1, 2, 3)]
SEEN = (("20100101000000", "other"), ("20100101000000", "web"), ("20110101000000", "web"))


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path / "archive.sqlite", read_only=False)) as made:
        make_tables(made)
        registry = Registry(made)
        registry.add_captures(capture_rows(PAGES[::-1]))
        registry.add_dates(dates_rows([Dates("k", SEEN[::-1]), Dates("l", SEEN[:1])]))
        yield made


def test_dates_come_by_id_in_order(db: sqlite3.Connection) -> None:
    id = document_id("k")
    assert reader.stored_dates(db, [id, "0" * 32, "no id"]) == {id: Dates("k", SEEN)}


def test_entries_come_in_the_order_of_their_ids(db: sqlite3.Connection) -> None:
    found = [entry["id"] for entry in reader.stored_entries_of(db, IndexName.CAPTURES)]
    assert found == ["web/a.warc@1000", "web/a.warc@2000", "web/a.warc@3000"]
    dated = [entry["id"] for entry in reader.stored_entries_of(db, IndexName.DATES)]
    assert dated == sorted([document_id("k"), document_id("l")])


def test_entries_are_counted(db: sqlite3.Connection) -> None:
    assert reader.entries(db, IndexName.CAPTURES) == 3
    assert reader.entries(db, IndexName.DATES) == 2
    assert reader.known(db, [PAGES[0].document_id]) == {}


COUNT = "SELECT sum(captures) FROM runs"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.write(batch(page(1), page(2)))
    return tmp_path / "archive"


def test_it_is_opened_once_and_sees_what_is_written_later(archive: Path) -> None:
    with closing(SharedConnection(Folder(archive))) as shared:
        with shared as first:
            assert first.execute(COUNT).fetchone() == (2,)
        with EmbeddedEngine(archive) as engine:
            engine.write(batch(page(3)))
        with shared as second:
            assert second is first
            assert second.execute(COUNT).fetchone() == (3,)


def test_it_opens_again_after_it_was_closed(archive: Path) -> None:
    shared = SharedConnection(Folder(archive))
    with shared:
        pass
    shared.close()
    with closing(shared), shared as db:
        assert db.execute(COUNT).fetchone() == (2,)


def test_a_folder_without_an_archive_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError), SharedConnection(Folder(tmp_path / "none")):
        pass
