"""Inverted links in Parquet files, and invalid ones."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from nwx.bulk.progress import WorkProgress
from nwx.errors import SourceError
from nwx.links.inverted import (
    INVERTED_LINKS,
    INVERTED_NOTES,
    InvertedLinks,
    stretch_arrays,
    write_loaded_part,
)
from nwx.links.parts import CODED_KINDS, found_parts
from nwx.model import Dates
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
    with pytest.raises(SourceError, match="has 3 rows, its notes say 5"):
        list(InvertedLinks(folder).links(5))
    (folder / INVERTED_LINKS / "part-00000.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(SourceError, match="document_links cannot be read"):
        list(InvertedLinks(folder).links(5))
    (folder / "_SUCCESS").unlink()
    with pytest.raises(SourceError, match="is not a complete output of `nwx spark links`"):
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


IDS = [bytes([n]) * 16 for n in range(4)]
COLUMNS = ("target", "document", "kind", "anchor")


class _Archive:
    """The part of an engine that a load uses."""

    def known(self, ids: list[str]) -> dict[str, int]:
        return dict.fromkeys(ids, 5)

    def dates(self, ids: list[str]) -> dict[str, Dates]:
        return {id: Dates("", (("20150101000000", "web"),)) for id in ids[:1]}


def test_links_lie_by_their_targets() -> None:
    rows = [
        ("test,a)/", IDS[0], "img", "text"),
        ("test,a)/", IDS[1], "a", ""),
        ("test,b)/", IDS[3], "a", "no document"),
        ("test,c)/", IDS[1], "strange", "größe"),
    ]
    arrays = stretch_arrays(pl.DataFrame(rows, schema=COLUMNS, orient="row"), pl.Series(IDS[:3]))
    assert arrays["key_bytes"].tobytes() == b"test,a)/test,c)/"
    assert arrays["link_starts"].tolist() == [0, 2, 3]
    assert arrays["document"].tolist() == [0, 1, 1]
    assert [CODED_KINDS[code] for code in arrays["kind"]] == ["img", "a", "other"]
    bounds = arrays["anchor_starts"].tolist()
    texts = [
        arrays["anchor_bytes"][bounds[n] : bounds[n + 1]].tobytes().decode()
        for n in arrays["anchor"]
    ]
    assert texts == ["text", "", "größe"]
    assert arrays["anchor"][1] == 0
    none = pl.Series(dtype=pl.Binary)
    assert stretch_arrays(pl.DataFrame(rows, schema=COLUMNS, orient="row"), none) == {}
    wrong = pl.DataFrame([("test,a)/", b"short", "a", "")], schema=COLUMNS, orient="row")
    with pytest.raises(SourceError, match="has the wrong length"):
        stretch_arrays(wrong, none)


def test_repeated_links_count_once_and_stretches_are_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.links.inverted.PART_LINKS", 3)
    documents = [(id, 5 + (id == IDS[2]), "test,a)/", "http://a.test/", 1) for id in IDS]
    links = [(f"test,{n // 4})/", IDS[0], "a", "") for n in range(8)]
    inverted = InvertedLinks(write_rows(tmp_path / "links", documents, links))
    states = pl.DataFrame({"id": IDS[:3], "state": np.arange(3, dtype=np.uint64)})
    told: list[WorkProgress] = []
    part = write_loaded_part(tmp_path / "parts", inverted, _Archive(), states, told.append)  # type: ignore[arg-type]
    assert part.table("documents")["id"].to_list() == IDS[:2]
    assert part.table("documents")["state"].to_list() == [0, 1]
    assert part.table("dates").rows() == [(0, 20150101000000, "web")]
    assert [len(one.arrays["document"]) for one in part.stretches] == [1, 1]
    assert [(one.done, one.total) for one in told] == [(3, 8), (6, 8), (8, 8)]


def test_links_out_of_order_are_refused(tmp_path: Path) -> None:
    documents = [(IDS[0], 5, "test,a)/", "http://a.test/", 0)]
    links = [("test,b)/", IDS[0], "a", ""), ("test,a)/", IDS[0], "a", "")]
    inverted = InvertedLinks(write_rows(tmp_path / "links", documents, links))
    states = pl.DataFrame({"id": IDS[:1], "state": np.arange(1, dtype=np.uint64)})
    with pytest.raises(SourceError, match="not sorted by linked URL"):
        write_loaded_part(tmp_path / "parts", inverted, _Archive(), states, lambda told: None)  # type: ignore[arg-type]
    assert found_parts(tmp_path / "parts") == []
