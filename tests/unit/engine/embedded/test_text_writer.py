"""An index with fewer fields, or other words, is made anew by the next writer."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nwx.engine.embedded import EmbeddedEngine, text_writer
from nwx.engine.embedded.documents import tantivy_index
from nwx.errors import EngineVersionError
from nwx.model import IndexName
from nwx.query.question import Question
from nwx.query.tree import Term
from tests.unit.engine.embedded.making import batch, page

DESCRIBED = Question(Term("description", "rare"))


@contextmanager
def fewer_fields() -> Iterator[None]:
    """Make indices as a version did whose mapping had no descriptions."""
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
        pytest.raises(EngineVersionError, match="run `nwx upgrade` to bring it forward"),
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
