"""Vectors in a folder: codes, approximate searches, damage, and graph files."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from nwx.engine.base import Engine, open_engine
from nwx.engine.embedded.entries import vector_index
from nwx.engine.embedded.entries.vector_index import codes_of, nearest_codes, signs_of, vectors_of
from nwx.engine.indices.vector_index import DocumentPassages, cosines, quantised
from nwx.errors import EngineError
from nwx.model import IndexName
from nwx.searching.vectors import has_current_vectors
from nwx.settings import Settings

OLDER = """
CREATE TABLE documents (first INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE,
    passages INTEGER NOT NULL, spans BLOB NOT NULL);
CREATE TABLE graphs (number INTEGER PRIMARY KEY, change INTEGER NOT NULL, content BLOB NOT NULL);
CREATE TABLE changes (number INTEGER NOT NULL); INSERT INTO changes VALUES (2);
CREATE TABLE states (name TEXT PRIMARY KEY, state BLOB NOT NULL);
INSERT INTO documents VALUES (0, zeroblob(16), 1, x'0009');
INSERT INTO states VALUES ('build', CAST('{"format":1}' AS BLOB));
PRAGMA user_version = 1;"""


@pytest.mark.parametrize("dimensions", [1, 24, 128, 131, 300])
def test_codes_keep_what_they_have_bits_for(dimensions: int) -> None:
    vectors = quantised(np.random.default_rng(29).standard_normal((99, dimensions)))
    codes = codes_of(vectors)
    found = vectors_of(codes, dimensions)
    assert codes.shape == (99, dimensions if dimensions <= 128 else -(-dimensions // 2))
    assert np.abs(found.astype(int) - vectors).max() <= (0 if dimensions <= 128 else 8)
    assert (codes_of(found) == codes).all()
    signs = signs_of(codes, dimensions)
    assert np.bitwise_count(signs).sum() == (vectors < 0).sum()


@pytest.mark.parametrize("dimensions", [64, 256])
def test_nearly_all_of_the_nearest_are_candidates(
    dimensions: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "_CANDIDATES", 400)
    chance = np.random.default_rng(29)
    subjects = chance.standard_normal((50, dimensions))[chance.integers(50, size=10_020)]
    made = quantised(subjects + chance.standard_normal((10_020, dimensions)))
    vectors, asked = made[20:], made[:20]
    codes = codes_of(vectors)
    held, signs = vectors_of(codes, dimensions), signs_of(codes, dimensions)
    right = 0
    for vector in asked:
        numbers, scores = nearest_codes(vector, codes, signs, 10)
        exact = cosines(vector, held)
        assert (scores == exact[numbers]).all() and (np.diff(scores) <= 0).all()
        right += np.isin(numbers, np.argsort(-exact)[:10]).sum()
    assert right >= 190


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    settings = Settings(engine=str(tmp_path / "archive"))
    with open_engine(settings) as opened:
        opened.create()
    with open_engine(settings) as opened:
        yield opened


def documents(count: int) -> list[DocumentPassages]:
    vectors = quantised(np.random.default_rng(count).standard_normal((count, 2, 8)))
    return [DocumentPassages(f"{n:032x}", ((0, 9), (9, 300)), v) for n, v in enumerate(vectors)]


def test_damage_is_found(engine: Engine, tmp_path: Path) -> None:
    index = engine.vector_index()
    index.put(documents(9))
    index.put(documents(12))  # nine of them known
    assert engine.count(IndexName.VECTORS) == 24
    assert index.remove([f"{n:032x}" for n in (3, 11)]) == 4 and not list(engine.damage())
    near = index.nearest(documents(9)[5].vectors[1], 1).passages[0]
    assert (near.document, near.span) == (f"{5:032x}", (9, 300))
    with closing(sqlite3.connect(tmp_path / "archive" / "vectors.db")) as db, db:
        db.execute("UPDATE chunks SET spans = substr(spans, 2) WHERE number = 1")
        db.execute("UPDATE changes SET number = number + 1")
    assert any("chunk 1" in str(one) for one in engine.damage())
    with pytest.raises(EngineError, match="damaged"):
        index.nearest(documents(1)[0].vectors[0], 1)


def test_graphs_of_the_first_format_are_built_again(engine: Engine, tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "archive" / "vectors.db")) as db, db:
        db.executescript(OLDER)
    index = engine.vector_index()
    assert index.is_made() and not has_current_vectors(engine) and not list(engine.damage())
    assert not index.known(["0" * 32]) and not engine.count(IndexName.VECTORS)
    index.put(documents(1))
    assert index.known(["0" * 32]) and engine.count(IndexName.VECTORS) == 2
