"""Commits, repairs and errors of the single writer."""

import json
import shutil
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.bulk.whole_files import sealed_json, unsealed_json
from nwx.engine.embedded import EmbeddedEngine, writer
from nwx.engine.embedded.database import connect
from nwx.engine.embedded.documents import stored_columns
from nwx.engine.embedded.documents.columns import DocumentColumns
from nwx.engine.embedded.folder import TantivyError
from nwx.engine.embedded.text_writer import TextWriter
from nwx.errors import EngineBusyError, EngineError, EngineFullError, EngineVersionError
from nwx.model import Batch, Collapse, Dates, IndexName
from nwx.query.question import Question
from nwx.query.tree import All, Term
from tests.unit.engine.embedded.making import batch, page

EVERYTHING = Question(All(), collapse=Collapse.NONE, limit=100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "archive"


def numbers(engine: EmbeddedEngine) -> list[int]:
    hits = engine.search(EVERYTHING).hits
    assert sorted(hit.id for hit in hits) == sorted(
        hit.id for hit in engine.scroll(Question(All()))
    )
    return sorted(int(hit.url.rpartition("/")[2]) for hit in hits)


def test_several_writes_make_one_commit(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine:
        engine.create()
        with EmbeddedEngine(folder, read_only=True) as reader:
            engine.write(batch(page(1), done_to=1))
            engine.write(batch(page(2), done_to=2))
            assert numbers(reader) == []
            assert reader.files() == []
            engine.refresh()
            assert numbers(reader) == [1, 2]
            assert reader.files()[0].done_to == 2


def test_long_waiting_writes_are_committed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "COMMIT_CHARACTERS", 10)
    with EmbeddedEngine(folder) as engine, EmbeddedEngine(folder) as reader:
        engine.write(batch(page(1, "short")))
        assert reader.count(IndexName.DOCUMENTS) == 0
        engine.write(batch(page(2, "long enough")))
        assert reader.count(IndexName.DOCUMENTS) == 2


def test_the_writer_sees_what_is_not_committed(folder: Path) -> None:
    one = page(1)
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(one))
        assert list(engine.known([one.capture.document_id])) == [one.capture.document_id]
        assert engine.documents([one.capture.document_id])


def test_closing_commits(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(page(1)))
    with EmbeddedEngine(folder, read_only=True) as reader:
        assert numbers(reader) == [1]


class _KilledError(Exception):
    """Stands for a process that ends at this point."""


def killed(*_: object) -> None:
    raise _KilledError


def abandon(engine: EmbeddedEngine) -> None:
    """Release files and locks without a commit, like a process that ends."""
    with pytest.raises(_KilledError):
        engine.refresh()
    engine.close()


def test_documents_of_a_killed_writer_are_passed_over_and_deleted(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = TextWriter.commit
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(page(1, "kept word"), done_to=1))
    engine = EmbeddedEngine(folder)
    engine.write(batch(page(2, "lost word"), page(3, "lost word"), done_to=3))
    with monkeypatch.context() as patch:
        patch.setattr(TextWriter, "commit", lambda self: (commit(self), killed()))
        abandon(engine)
    with EmbeddedEngine(folder, read_only=True) as reader:
        assert reader._viewer.view().searcher.num_docs == 3
        assert numbers(reader) == [1]
        word = Question(Term("", "word"), facets=("domain",))
        assert [hit.url[-1] for hit in reader.search(word).hits] == ["1"]
        assert reader.search(word).facets["domain"][0].count == 1
        assert reader.files()[0].done_to == 1
    with EmbeddedEngine(folder) as engine:
        engine.create()
        assert engine._viewer.view().searcher.num_docs == 1
        assert engine.write(batch(page(4), page(2), page(3), done_to=3)).documents == 3
        engine.refresh()
        assert numbers(engine) == [1, 2, 3, 4]


def test_a_replaced_document_survives_a_killed_writer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = TextWriter.commit
    late, early = page(1, "late"), page(1, "early", timestamp="20090101000000")
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(late))
    engine = EmbeddedEngine(folder)
    engine.write(batch(early))
    with monkeypatch.context() as patch:
        patch.setattr(TextWriter, "commit", lambda self: (commit(self), killed()))
        abandon(engine)
    with EmbeddedEngine(folder) as engine:
        assert numbers(engine) == [1]
        assert engine.write(batch(early)).replaced == 0  # opening has finished the commit
        engine.refresh()
        id = early.capture.document_id
        assert engine.documents([id])[id].extract.content == "early"
        assert numbers(engine) == [1]


def test_files_of_a_killed_writer_are_not_in_the_way(folder: Path, tmp_path: Path) -> None:
    late, early = page(1, "late"), page(1, "early", timestamp="20090101000000")
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(late, page(2)))
    state = tmp_path / "killed"
    shutil.copytree(folder, state)
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(early))
        engine.refresh()
        # Killed after writing the files, and before adding them to the index.
        (deletions,) = (folder / "documents").glob("*.del")
        for file in (deletions, folder / "documents" / ".managed.json"):
            shutil.copy(file, state / "documents")
    with EmbeddedEngine(state) as engine:
        assert engine.write(batch(early)).replaced == 1
        engine.refresh()
        id = early.capture.document_id
        assert engine.documents([id])[id].extract.content == "early"


# Creates a segment with each commit, and ends before tantivy has merged them.
LEAVE_SEGMENTS = """
import os, sys
from pathlib import Path
from nwx.engine.embedded import EmbeddedEngine
from nwx.query.question import Question
from tests.unit.engine.embedded.making import batch, page

engine = EmbeddedEngine(Path(sys.argv[1]))
for number in range(7):
    engine.write(batch(*(page(3 * number + n) for n in range(3))))
    engine.refresh()
engine.write(batch(page(100), page(1, "early", timestamp="20090101000000")))
engine.refresh()
os._exit(0)
"""


def test_what_replaces_documents_of_unmerged_segments_replaces_them(tmp_path: Path) -> None:
    for attempt in range(20):
        folder = tmp_path / str(attempt)
        command = [sys.executable, "-c", LEAVE_SEGMENTS, str(folder)]
        subprocess.run(command, check=True, cwd=Path(__file__).parents[4])
        meta = json.loads((folder / "documents" / "meta.json").read_text(encoding="utf-8"))
        if len(meta["segments"]) == 8:
            break
    else:
        pytest.fail("tantivy merges before a process can end")
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(page(0, "early", timestamp="20090101000000")))
    with EmbeddedEngine(folder, read_only=True) as reader:
        assert reader._viewer.view().searcher.num_docs == 22
        assert numbers(reader) == [*range(21), 100]


def test_a_deletion_is_finished_by_the_next_writer(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = page(1), page(2)
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(one, two))
    engine = EmbeddedEngine(folder)
    with monkeypatch.context() as patch:
        patch.setattr(TextWriter, "delete", killed)
        with pytest.raises(_KilledError):
            engine.delete(IndexName.DOCUMENTS, [one.capture.document_id])
    engine.close()
    with EmbeddedEngine(folder) as engine:
        assert numbers(engine) == [2]
        engine.create()
        assert engine._viewer.view().searcher.num_docs == 1


def test_documents_that_went_missing_are_noticed(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(page(1), page(2)))
    for file in (folder / "documents").iterdir():
        file.unlink()
    with EmbeddedEngine(folder) as engine, pytest.raises(EngineError, match="lacks 2 documents"):
        engine.create()


def test_there_is_one_writer(folder: Path) -> None:
    with EmbeddedEngine(folder) as first, EmbeddedEngine(folder) as second:
        first.create()
        with pytest.raises(EngineBusyError, match=str(folder)):
            second.create()
        with pytest.raises(EngineBusyError):
            second.write(batch(page(1)))
        first.close()
        assert second.write(batch(page(1))).documents == 1


def test_dates_are_appended_by_many_in_turn(folder: Path) -> None:
    with EmbeddedEngine(folder) as first:
        first.create()
    with EmbeddedEngine(folder) as first, EmbeddedEngine(folder) as second:
        dates = [Dates("http://a.org/ sha1:A", (("20100101000000", "web"),))]
        assert first.append_dates(dates) == 1
        assert second.append_dates(dates) == 0


def test_a_batch_that_cannot_be_stored_changes_nothing(folder: Path) -> None:
    odd = Dates("http://a.org/ sha1:A", (("no date", "web"),))
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(page(1), done_to=1))
        with pytest.raises(ValueError, match="no date"):
            engine.write(replace(batch(page(2)), dates=(odd,)))
        engine.write(batch(page(3), done_to=3))
        engine.refresh()
        assert numbers(engine) == [1, 3]
        assert engine.count(IndexName.CAPTURES) == 2
        assert engine.write(batch(page(2))).documents == 1
        engine.refresh()
        assert numbers(engine) == [1, 2, 3]


def test_a_full_disk_keeps_what_was_committed(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(page(0), done_to=1))
        engine.refresh()
        pages = engine._writing().db.execute("PRAGMA page_count").fetchone()[0]
        engine._writing().db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(EngineFullError, match=f"no space is left at {folder}"):
            for number in range(1, 5000):
                engine.write(batch(page(number), done_to=number))
        with pytest.raises(EngineError, match=r"writing to .* has failed"):
            engine.write(batch(page(5000), done_to=5000))
    with EmbeddedEngine(folder) as engine:
        engine.create()
        assert numbers(engine) == [0]
        assert engine.files()[0].done_to == 1
        engine.write(batch(page(1), done_to=2))
        engine.refresh()
        assert numbers(engine) == [0, 1]


def test_tantivys_full_disk_is_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: object) -> None:
        raise TantivyError("An IO error occurred: 'No space left on device (os error 28)'")

    with EmbeddedEngine(folder) as engine:
        engine.write(batch(page(1)))
        monkeypatch.setattr(TextWriter, "commit", full)
        with pytest.raises(EngineFullError):
            engine.refresh()
    monkeypatch.undo()
    with EmbeddedEngine(folder, read_only=True) as reader:
        assert numbers(reader) == []


def test_what_is_for_reading_only_is_not_written(folder: Path) -> None:
    with pytest.raises(EngineError, match=r"no archive at .*; run `nwx import` first"):
        EmbeddedEngine(folder, read_only=True)
    assert not folder.exists()
    EmbeddedEngine(folder).create()
    with pytest.raises(EngineError) as found:  # shown on pages: it must not name the archive
        EmbeddedEngine(folder.parent / "other", read_only=True)
    assert str(folder) not in str(found.value)
    assert "--engine" not in str(found.value)
    with EmbeddedEngine(folder, read_only=True) as reader:
        with pytest.raises(EngineError, match="for reading only"):
            reader.write(Batch())
        with pytest.raises(EngineError, match="for reading only"):
            reader.append_dates([])


def test_no_archive_is_an_error(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine, pytest.raises(EngineError, match="no archive at"):
        engine.search(EVERYTHING)


def test_a_newer_archive_is_refused(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine:
        engine.create()
    manifest = folder / "nwx.json"
    manifest.write_text(sealed_json(unsealed_json(manifest.read_text()) | {"format": 99}))
    with pytest.raises(EngineVersionError, match="a newer version of nwx"):
        EmbeddedEngine(folder, read_only=True)
    with EmbeddedEngine(folder) as engine, pytest.raises(EngineVersionError):
        engine.create()


@pytest.mark.parametrize("name", ["nwx.json", "archive.sqlite", "documents/meta.json"])
def test_what_is_damaged_is_named(folder: Path, name: str) -> None:
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(page(1)))
    (folder / name).write_bytes(b"\x00garbage" * 2000)
    for suffix in ("-wal", "-shm"):
        (folder / f"archive.sqlite{suffix}").unlink(missing_ok=True)
    with EmbeddedEngine(folder) as engine, pytest.raises(EngineError, match=name.split("/")[0]):
        engine.search(EVERYTHING)
    with EmbeddedEngine(folder) as engine, pytest.raises(EngineError, match=name.split("/")[0]):
        engine.create()


def test_columns_read_bit_by_bit_are_those_read_at_once(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine, EmbeddedEngine(folder) as reader:
        engine.create()
        for number in range(6):
            engine.append_dates([batch(page(number + 1, timestamp="20080101000000")).dates[0]])
            engine.write(
                batch(page(number, f"text {number}"), page(3, timestamp=f"200{number}0101000000"))
            )
            engine.refresh()
            step = reader._viewer.view().columns
            with closing(connect(folder / "archive.sqlite", read_only=True)) as db:
                whole = DocumentColumns.read(db, stored_columns.read_columns(db, None))
            assert_equal(step, whole)
        assert numbers(reader) == list(range(6))


def assert_equal(one: DocumentColumns, other: DocumentColumns) -> None:
    assert (one.size, one.entries, one.labels) == (other.size, other.entries, other.labels)
    assert one.stored.documents.keys() == other.stored.documents.keys()
    for name, column in one.stored.documents.items():
        assert (column == other.stored.documents[name]).all(), name
    assert (one.oldest == other.oldest).all()
    assert (one.newest == other.newest).all()


@pytest.mark.parametrize("harm", [None, "old", "cut", "gone", "other"])
def test_kept_columns_are_those_of_the_database(folder: Path, harm: str | None) -> None:
    kept = folder / "columns.arrays"
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(*map(page, range(50))))
    before = kept.read_bytes()
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(*map(page, range(50, 90))))
        engine.delete(IndexName.DOCUMENTS, [page(3).capture.document_id])
    assert kept.read_bytes() != before
    if harm == "old":
        kept.write_bytes(before)
    elif harm == "cut":
        kept.write_bytes(before[:1000])
    elif harm == "gone":
        kept.unlink()
    elif harm == "other":
        kept.write_bytes(b"something else")
    with EmbeddedEngine(folder, read_only=True) as reader:
        columns = reader._viewer.view().columns
        with closing(connect(folder / "archive.sqlite", read_only=True)) as db:
            assert (stored_columns.load_columns_file(kept, db) is None) == (harm is not None)
            assert_equal(columns, DocumentColumns.read(db, stored_columns.read_columns(db, None)))
        assert numbers(reader) == [n for n in range(90) if n != 3]


def test_columns_are_not_written_anew_for_little(folder: Path) -> None:
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(*map(page, range(50))))
    before = (folder / "columns.arrays").read_bytes()
    with EmbeddedEngine(folder) as engine:
        engine.write(batch(page(50)))
    assert (folder / "columns.arrays").read_bytes() == before
    with EmbeddedEngine(folder) as engine:
        assert numbers(engine) == list(range(51))
