"""An index with fewer fields, or other words, is rebuilt by the next writer."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nwx.engine.embedded import EmbeddedEngine, text_writer
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.tantivy_index import Packer, ReadIndex
from nwx.engine.embedded.text_writer import (
    SegmentMaker,
    TextWriter,
    adopt_segments,
    segment_entries,
)
from nwx.engine.entries import document_entry
from nwx.errors import EngineVersionError
from nwx.model import IndexName
from nwx.query.question import Question
from nwx.query.tree import Term
from tests.unit.engine.embedded.making import batch, page

DESCRIBED = Question(Term("description", "rare"))


@contextmanager
def fewer_fields() -> Iterator[None]:
    """Create indices like a version whose mapping had no descriptions."""
    known = tantivy_index.field_kinds
    fewer = {name: kind for name, kind in known().items() if name != "description"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tantivy_index, "field_kinds", lambda: fewer)
        tantivy_index.schema.cache_clear()
        yield
    tantivy_index.schema.cache_clear()


@pytest.fixture
def older(tmp_path: Path) -> Path:
    with fewer_fields(), EmbeddedEngine(tmp_path / "a") as engine:
        engine.write(batch(*(page(n, f"text {n}", description="rare words") for n in range(3))))
    return tmp_path / "a"


def test_documents_are_found_by_the_fields_that_are_new(older: Path) -> None:
    with EmbeddedEngine(older) as engine:
        engine.create()
        engine.write(batch(page(7, "text", description="rare too")))
        engine.refresh()
        assert engine.search(DESCRIBED).total.value == 4
        assert engine.search(Question("text")).total.value == 4
    with EmbeddedEngine(older, read_only=True) as engine:
        assert engine.search(DESCRIBED).total.value == 4
    assert sorted(path.name for path in older.glob("documents*")) == ["documents"]


def test_who_only_reads_is_told_what_to_do(older: Path) -> None:
    with (
        EmbeddedEngine(older, read_only=True) as engine,
        pytest.raises(EngineVersionError, match="run `nwx upgrade`"),
    ):
        engine.search(DESCRIBED)
    with EmbeddedEngine(older) as engine:
        assert engine.upgrade().indices == (IndexName.DOCUMENTS,)
    with EmbeddedEngine(older, read_only=True) as engine:
        assert engine.search(DESCRIBED).total.value == 3


def test_a_rebuild_that_was_killed_is_done_again(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (older / "documents.new").mkdir()
    (older / "documents").rename(older / "documents.old")
    with EmbeddedEngine(older) as engine:
        engine.create()
        assert engine.search(DESCRIBED).total.value == 3


def test_an_index_of_today_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with EmbeddedEngine(tmp_path / "a") as engine:
        engine.write(batch(page(1)))
    monkeypatch.setattr(text_writer, "TextWriter", None)
    with EmbeddedEngine(tmp_path / "a") as engine:
        engine.create()


def test_words_are_analysed_anew(tmp_path: Path) -> None:
    asked = Question(Term("content", "children"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tantivy_index, "ANALYZER", "text")
        patch.setattr(tantivy_index, "ANALYZER", "text")
        patch.setattr(tantivy_index, "tokenized", str)
        tantivy_index.schema.cache_clear()
        with EmbeddedEngine(tmp_path / "a") as engine:
            engine.write(batch(page(1, "the children's room")))
            engine.refresh()
            assert engine.search(asked).total.value == 0
    tantivy_index.schema.cache_clear()
    with EmbeddedEngine(tmp_path / "a") as engine:
        engine.create()
        assert engine.search(asked).total.value == 1


def made(folder: Path, *numbers: int) -> Path:
    packer = Packer()
    folder.mkdir()
    maker = SegmentMaker(folder)
    for number in numbers:
        maker.add(packer.document(number, document_entry(page(number))))
    return maker.finish()


def test_adopted_documents_are_there(tmp_path: Path) -> None:
    index = made(tmp_path / "index", 1, 2)
    folders = [made(tmp_path / "a", 3), made(tmp_path / "b", 4, 5)]
    assert adopt_segments(index, folders) == 3
    assert not any(folder.exists() for folder in folders)
    assert TextWriter(index).nums() == {1, 2, 3, 4, 5}


def test_the_entries_of_a_segment_can_be_read(tmp_path: Path) -> None:
    folder = made(tmp_path / "a", 3, 4, 5)
    assert dict(segment_entries(folder, [3, 5])) == {
        number: document_entry(page(number)) for number in (3, 5)
    }


def test_merged_segments_leave_no_files_behind(tmp_path: Path) -> None:
    index = made(tmp_path / "index", 1)
    adopt_segments(index, [made(tmp_path / str(number), number) for number in range(2, 10)])
    writer = TextWriter(index)
    writer.forget([2])
    writer.tidy()
    writer.finish()
    assert TextWriter(index).nums() == {1, *range(3, 10)}
    [segment] = json.loads((index / "meta.json").read_text())["segments"]
    name = segment["segment_id"].replace("-", "")
    files = [file.name for file in index.iterdir() if len(file.stem) == len(name)]
    assert {Path(file).stem for file in files} == {name}


class _KilledError(Exception):
    """Stands for the end of the process."""


@pytest.mark.parametrize("survived", [0, 1, 2])
def test_a_writer_killed_while_it_adopts_leaves_the_index_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, survived: int
) -> None:
    index, folder = made(tmp_path / "index", 1), made(tmp_path / "a", 2)
    calls = iter(range(10))
    replace = text_writer.replace_json

    def killed(file: Path, content: object) -> None:
        if next(calls) >= survived:
            raise _KilledError
        replace(file, content)

    monkeypatch.setattr(text_writer, "replace_json", killed)
    if survived < 2:
        with pytest.raises(_KilledError):
            adopt_segments(index, [folder])
    else:
        adopt_segments(index, [folder])
    monkeypatch.undo()
    writer = TextWriter(index)
    assert writer.nums() == ({1} if survived < 2 else {1, 2})
    writer.delete([7])
    writer.commit()
    writer.finish()
    known = len(json.loads((index / "meta.json").read_text())["segments"])
    assert len(list(index.glob("*.store"))) == known


BLANK_TERMS = ["", "a b", "a\tb", "a\nb", "a\rb", "a\fb", "a\vb", "a\x1cb", "a\u3000b", "a\u2028b"]


@pytest.mark.parametrize(
    "terms", [BLANK_TERMS, ["http://a/", "http://b/"], ["http://a/", "x y"], ["a", ""], [" "]]
)
def test_terms_are_indexed_whole_whatever_they_contain(tmp_path: Path, terms: list[str]) -> None:
    maker = SegmentMaker(tmp_path)
    for number, links in enumerate((terms, terms[:1], terms[1:]), 1):
        entry = document_entry(page(number)) | {"links": links, "problems": links}
        maker.add(Packer().document(number, entry))
    maker.finish()
    index = ReadIndex(tantivy_index.schema(), tmp_path)
    for name in ("links", "problems"):
        found = index.searcher().terms_with_prefix(name, "", limit=100)
        assert dict(found) == dict.fromkeys(terms, 2)
    index.close()
