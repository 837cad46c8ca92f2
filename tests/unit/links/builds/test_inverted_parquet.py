"""Inverted links in Parquet files, and what is refused of them."""

import json
from pathlib import Path

import polars as pl
import pytest

from nwx.errors import SourceError
from nwx.links.builds.inverted_parquet import INVERTED_LINKS, INVERTED_NOTES, InvertedLinks
from tests.inverted_links import write_rows

ONE, TWO = b"1" * 16, b"2" * 16
DOCUMENTS = [(ONE, 5, "test,a)/", "http://a.test/", 0), (TWO, 7, "test,b)/", "http://b.test/", 2)]
LINKS = [(f"test,{n})/", ONE, "a", "") for n in range(5)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "links", DOCUMENTS, LINKS, [("http://a.test/", "20150101")])


def test_tables_come_in_order(folder: Path) -> None:
    found = InvertedLinks(folder)
    assert found.documents().rows() == DOCUMENTS
    assert [len(some) for some in found.links(2)] == [2, 2, 1]
    assert pl.concat(found.links(3)).rows() == LINKS
    assert list(found.unmet()) == [("http://a.test/", "20150101")]


def test_empty_tables_have_no_file(tmp_path: Path) -> None:
    found = InvertedLinks(write_rows(tmp_path / "links", [], []))
    assert found.documents().rows() == list(found.links(5)) == list(found.unmet()) == []


def test_what_is_not_whole_is_refused(folder: Path) -> None:
    (folder / INVERTED_LINKS / "part-00001.parquet").unlink()
    with pytest.raises(SourceError, match="has 3 rows, its notes tell 5"):
        list(InvertedLinks(folder).links(5))
    (folder / INVERTED_LINKS / "part-00000.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(SourceError, match="document_links cannot be read"):
        list(InvertedLinks(folder).links(5))
    (folder / "_SUCCESS").unlink()
    with pytest.raises(SourceError, match="is no whole output of `nwx spark links`"):
        InvertedLinks(folder)


def test_other_tables_are_refused(folder: Path) -> None:
    path = folder / INVERTED_LINKS / "part-00000.parquet"
    pl.read_parquet(path).with_columns(pl.lit(None, pl.String).alias("kind")).write_parquet(path)
    with pytest.raises(SourceError, match="has a row without a value"):
        list(InvertedLinks(folder).links(5))
    pl.read_parquet(path).drop("kind").write_parquet(path)
    with pytest.raises(SourceError, match="document_links cannot be read"):
        list(InvertedLinks(folder).links(5))


@pytest.mark.parametrize(
    ("notes", "words"),
    [
        ({"format": 9}, "has format 9, this nwx reads 1; run `nwx spark links` of this version"),
        ({"format": 1}, "links.json cannot be read"),
        ([], "links.json cannot be read"),
        (None, "links.json cannot be read"),
    ],
)
def test_other_versions_are_refused(folder: Path, notes: object, words: str) -> None:
    (folder / INVERTED_NOTES).unlink()
    if notes is not None:
        (folder / INVERTED_NOTES).write_text(json.dumps(notes))
    with pytest.raises(SourceError, match=words):
        InvertedLinks(folder)
