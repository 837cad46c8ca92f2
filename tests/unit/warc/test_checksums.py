"""Checksums of files, including growing ones."""

import os
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.warc.checksums import checksum, checksum_of_grown, contents_of
from nwx.warc.sources import ArchiveSource, expand

DATA = b"some bytes of a file"


def source_of(path: Path, content: bytes) -> ArchiveSource:
    path.write_bytes(content)
    (source,) = expand([str(path)])
    assert isinstance(source, ArchiveSource)
    return source


def test_a_checksum_tells_files_apart_and_not_paths(tmp_path: Path) -> None:
    contents = [DATA, DATA, DATA[:-1] + b"x", DATA + b"\0", b"", os.urandom(3 << 20)]
    sums = [
        checksum(source_of(tmp_path / f"{number}.warc.gz", content))
        for number, content in enumerate(contents)
    ]
    assert sums[0] == sums[1]
    assert len(set(sums)) == len(sums) - 1


@pytest.mark.parametrize("growing", [False, True])
def test_the_checksum_of_a_grown_file_continues_the_former_one(
    tmp_path: Path, growing: bool
) -> None:
    known = checksum(source_of(tmp_path / "a.warc.gz", DATA[:7]))
    grown = replace(source_of(tmp_path / "a.warc.gz", DATA), growing=growing)
    assert checksum_of_grown(grown, known) == checksum(grown)


def test_a_file_with_another_beginning_has_not_grown(tmp_path: Path) -> None:
    known = checksum(source_of(tmp_path / "a.warc.gz", DATA[:7]))
    assert checksum_of_grown(source_of(tmp_path / "a.warc.gz", b"x" + DATA), known) is None


def test_a_copy_is_recognized_by_the_ends_known_of_an_address(tmp_path: Path) -> None:
    source = source_of(tmp_path / "a.warc.gz", DATA)
    known = f"{len(DATA)}~{zlib.crc32(DATA):08x}"
    assert contents_of(source, known).checksum == known
    address = replace(source, path=source_of(tmp_path / "b", DATA).path.replace("/", "file:///", 1))
    assert checksum(address) == known
    assert contents_of(address, checksum(source)).checksum == checksum(source)
