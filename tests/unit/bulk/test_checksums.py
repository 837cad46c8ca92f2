"""Checksums of files and JSON objects."""

import zlib
from pathlib import Path

import pytest

from nwx.bulk.checksums import file_checksum, sealed_json, unsealed_json

ENTRY = {"name": "Köln", "sizes": [1, 2.5, None], "inner": {"b": 1, "a": True}}


def test_a_file_is_summed_up_to_a_position(tmp_path: Path) -> None:
    content = bytes(range(256)) * 5_000
    path = tmp_path / "file"
    path.write_bytes(content)
    assert file_checksum(path) == zlib.crc32(content)
    assert file_checksum(path, 1_100_000) == zlib.crc32(content[:1_100_000])


@pytest.mark.parametrize("indent", [None, 2])
def test_an_object_is_read_back_without_its_checksum(indent: int | None) -> None:
    assert unsealed_json(sealed_json(ENTRY, indent)) == ENTRY


def test_an_object_of_an_older_version_has_no_checksum() -> None:
    assert unsealed_json('{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    "text", [sealed_json(ENTRY).replace("2.5", "2.6"), "[1]", "{", sealed_json(ENTRY)[:-9]]
)
def test_a_changed_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        unsealed_json(text)
