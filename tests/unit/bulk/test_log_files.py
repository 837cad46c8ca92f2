import gzip
import os
from pathlib import Path

import pytest

from nwx.bulk.log_files import LogFile, LogFolder, opened_log
from tests.unit.bulk.rotated import line, time_of


def write(path: Path, text: bytes, changed: int) -> None:
    path.write_bytes(text)
    os.utime(path, ns=(changed, changed))


def test_files_come_in_the_order_of_their_first_lines(tmp_path: Path) -> None:
    write(tmp_path / "crawl.log", line(9), 1)
    write(tmp_path / "crawl.log.10.gz", gzip.compress(line(1)), 9)
    write(tmp_path / "crawl.log.2", b"nonsense\n" + line(3), 8)
    write(tmp_path / "crawl-20260101.log", line(2), 7)
    write(tmp_path / "crawl.log.lck", b"", 7)
    write(tmp_path / "other.log", line(5), 7)
    (tmp_path / "crawl.log.folder").mkdir()
    names = [one.path.name for one in LogFolder(tmp_path / "crawl.log", time_of).files()]
    assert names == ["crawl.log.10.gz", "crawl-20260101.log", "crawl.log.2", "crawl.log"]


def test_files_without_a_line_come_behind_those_changed_before(tmp_path: Path) -> None:
    write(tmp_path / "crawl.log", b"half a l", 9)
    write(tmp_path / "crawl.log.3", line(1), 1)
    write(tmp_path / "crawl.log.2", b"nothing that is read", 2)
    write(tmp_path / "crawl.log.1", line(4), 3)
    folder = LogFolder(tmp_path / "crawl.log", time_of)
    names = [one.path.name for one in folder.files()]
    assert names == ["crawl.log.3", "crawl.log.2", "crawl.log.1", "crawl.log"]
    assert folder.files() == folder.files()


def test_no_folder_and_no_files(tmp_path: Path) -> None:
    assert LogFolder(tmp_path / "crawl.log", time_of).files() == []
    assert LogFolder(tmp_path / "nowhere" / "crawl.log", time_of).files() == []


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_read_from_any_place(tmp_path: Path, packed: bool) -> None:
    text = b"".join(map(line, range(3_000)))
    path = tmp_path / "crawl.log"
    path.write_bytes(gzip.compress(text) if packed else text)
    with opened_log(path) as file:
        assert file.is_packed == packed
        assert file.read_at(70_000, 1_000) == text[70_000:71_000]
        assert file.read_at(5, 100) == text[5:105]
        assert file.head(30) == text[:30]
        assert file.read_at(len(text) - 5, 100) == text[-5:]
        assert not file.damage


def test_what_is_damaged_ends_there(tmp_path: Path) -> None:
    text = b"".join(map(line, range(30_000)))
    packed = gzip.compress(text)
    path = tmp_path / "crawl.log.gz"
    path.write_bytes(packed[: len(packed) // 2])
    with opened_log(path) as file:
        found = file.read_at(0, len(text))
        assert file.damage and text.startswith(found) and found != text


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        LogFile(tmp_path / "crawl.log")
