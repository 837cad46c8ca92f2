"""Entries that lie in a file as columns."""

import json
from pathlib import Path

import numpy as np
import pytest

from nwx.bulk.arrays import write_arrays
from nwx.engine.entry_columns import EntryColumns, TextsFile, combination_id
from nwx.errors import BlobError


def columns(folder: Path) -> EntryColumns:
    (folder / "types.json").write_text(json.dumps(["unknown", "html"]))
    arrays = {
        "type/type": np.array([1, 0], dtype=np.uint8),
        "type/captures": np.array([2**40, 3]),
        "/captures": np.array([5], dtype=np.uint8),
    }
    write_arrays(folder / "a", arrays)
    return EntryColumns("a", 3, {"type": "types.json"}, {"type": "content_type_norm"})


def test_entries_have_the_texts_of_codes_and_plain_numbers(tmp_path: Path) -> None:
    found = list(columns(tmp_path).read(tmp_path))
    assert found == [
        {
            "id": "type=html",
            "grouping": "type",
            "content_type_norm": "html",
            "captures": 2**40,
        },
        {"id": "type=unknown", "grouping": "type", "content_type_norm": "unknown", "captures": 3},
        {"id": "", "grouping": "", "captures": 5},
    ]
    assert {type(entry["captures"]) for entry in found} == {int}


@pytest.mark.parametrize("missing", ["a", "types.json"])
def test_missing_files_are_named(tmp_path: Path, missing: str) -> None:
    known = columns(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(BlobError, match=missing):
        list(known.read(tmp_path))


def test_texts_are_read_although_their_file_was_removed(tmp_path: Path) -> None:
    (tmp_path / "a").write_text('["x", "é"]')
    texts = TextsFile(tmp_path / "a")
    (tmp_path / "a").unlink()
    assert texts.read() == ["x", "é"]


def test_damaged_texts_are_named(tmp_path: Path) -> None:
    (tmp_path / "broken").write_text('["x"')
    with pytest.raises(BlobError, match="broken"):
        TextsFile(tmp_path / "broken").read()
    (tmp_path / "empty").write_text("")
    with pytest.raises(BlobError, match="empty"):
        TextsFile(tmp_path / "empty")


def test_ids_of_combinations() -> None:
    assert combination_id(["status", "month"], ["ok", "2013-01", 7]) == "status=ok month=2013-01"
    assert combination_id([], [7]) == ""
