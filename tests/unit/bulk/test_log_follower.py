import gzip
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.bulk.log_follower import LogFile, LogFolder, opened_log
from nwx.errors import SourceError
from tests.unit.bulk.rotated import RotatedLog, line, time_of


@pytest.fixture
def log(tmp_path: Path) -> Iterator[RotatedLog]:
    made = RotatedLog(tmp_path)
    yield made
    made.follower.close()


def test_lines_are_read_when_they_are_whole(log: RotatedLog) -> None:
    log.look()
    assert log.found == b""
    log.write(line(1) + line(2)[:9])
    log.look()
    assert log.found == line(1)
    log.write(line(2)[9:])
    log.look()
    log.look()
    assert log.found == log.written


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("way", ["rename", "shift", "copy_and_truncate"])
def test_the_rest_of_a_rotated_log_comes_before_the_new_one(
    log: RotatedLog, way: str, packed: bool
) -> None:
    log.write(line(1) + line(2))
    log.look()
    for number in (3, 6, 9):
        log.write(line(number) + line(number + 1)[:7])
        rotated = getattr(log, way)()
        if packed:
            log.pack(rotated)
        log.write(line(number + 1)[7:] + line(number + 2))
    log.restart()
    log.look()
    assert log.found == log.written and not log.problems


def test_a_log_is_read_from_its_oldest_file(log: RotatedLog) -> None:
    for number in range(12):
        log.write(line(number))
        log.pack(log.shift())
    log.write(line(99))
    log.look()
    assert log.found == log.written


def test_a_renamed_log_that_is_still_written_is_read_on(log: RotatedLog) -> None:
    log.write(line(1))
    log.look()
    rotated = log.rename()
    with rotated.open("ab") as stream:
        stream.write(line(2))
    log.path.touch()
    log.look()
    log.write(line(3))
    log.look()
    assert log.found == line(1) + line(2) + line(3)


def test_the_launches_of_a_job_are_one_log(tmp_path: Path) -> None:
    (tmp_path / "latest").symlink_to("20260101")
    for launch in ("20260101", "20260102"):
        (tmp_path / launch / "logs").mkdir(parents=True)
    log = RotatedLog(tmp_path / "latest" / "logs")
    log.write(line(1) + line(2))
    log.look()
    log.write(line(3))
    (tmp_path / "latest").unlink()
    (tmp_path / "latest").symlink_to("20260102")
    log.look()
    log.write(line(4))
    log.look()
    assert log.found == log.written and not log.problems


def test_a_line_that_a_writer_never_ended_stays_one(log: RotatedLog) -> None:
    log.write(line(1) + line(2)[:9])
    log.rename()
    log.write(line(3))
    log.look()
    assert log.found == line(1) + line(2)[:9] + b"\n" + line(3)


def test_copies_of_a_log_are_not_read_again(log: RotatedLog, tmp_path: Path) -> None:
    log.write(line(1) + line(2))
    log.rename()
    log.write(line(3) + line(4))
    (tmp_path / "crawl.log.bak").write_bytes(line(3))
    (tmp_path / "crawl.log.old").write_bytes(line(1))
    log.look()
    log.write(line(5))
    (tmp_path / "crawl.log.bak2").write_bytes(log.path.read_bytes())
    log.look()
    assert log.found == log.written


def test_a_log_that_is_gone_is_told_and_gone_on_behind(log: RotatedLog) -> None:
    log.write(line(1) + line(2))
    log.look()
    log.write(line(3))
    log.rename().unlink()
    log.look()
    assert log.found == line(1) + line(2) and not log.problems
    log.write(line(4))
    log.look()
    log.write(line(5))
    log.look()
    assert log.found == b"".join(map(line, (1, 2, 4, 5)))
    assert log.problems == ["the unread part of the log is gone"]


def test_a_log_that_another_takes_the_place_of(log: RotatedLog) -> None:
    log.write(line(5) + line(6))
    log.look()
    log.path.write_bytes(line(1) + line(2) + line(3))
    log.look()
    assert log.found == b"".join(map(line, (5, 6, 1, 2, 3))) and len(log.problems) == 1


def test_what_a_truncated_log_leaves_behind(log: RotatedLog) -> None:
    """A writer that continues at its old position leaves zeros before it."""
    log.write(line(1))
    log.look()
    log.copy_and_truncate()
    log.path.write_bytes(b"\0" * 30 + line(2))
    log.look()
    assert log.found == line(1) + b"\0" * 30 + line(2)


def test_lines_without_end(log: RotatedLog) -> None:
    log.write(line(1) + b"x" * (9 << 20))
    log.look()
    log.write(b"y" * (3 << 20) + b"\n" + line(2))
    log.restart()
    log.look()
    assert log.found == line(1) + line(2)
    assert log.problems == ["a line is longer than 1,048,576 bytes"]


def test_a_damaged_packed_log_is_read_as_far_as_it_goes(log: RotatedLog) -> None:
    log.written = b"".join(map(line, range(40_000)))
    log.path.write_bytes(log.written)
    rotated = log.rename()
    packed = gzip.compress(log.written)
    rotated.with_name("crawl.log.1.gz").write_bytes(packed[: len(packed) // 2])
    rotated.unlink()
    log.write(line(99_999))
    log.look()
    assert log.found.endswith(b"\n" + line(99_999)) and log.found.count(b"\n") > 10_000
    assert [problem.split(":")[0] for problem in log.problems] == ["crawl.log.1.gz is damaged"]


def test_much_is_read_in_parts(log: RotatedLog) -> None:
    log.written = b"".join(map(line, range(200_000)))
    log.path.write_bytes(log.written)
    log.pack(log.rename())
    places = []
    while part := log.follower.read(log.place):
        places.append((part.file, part.offset))
        log.found += part.lines
        log.place = part.place
    assert len(places) == 2 and places[1][1] > 0
    assert log.found == log.written


def test_a_place_can_be_gone_back_to(log: RotatedLog) -> None:
    log.write(line(1))
    log.look()
    before = log.place
    log.write(line(2))
    log.pack(log.rename())
    log.write(line(3))
    log.look()
    log.place, log.found = before, b""
    log.look()
    assert log.found == line(2) + line(3)


def test_a_log_that_cannot_be_read(log: RotatedLog, monkeypatch: pytest.MonkeyPatch) -> None:
    log.write(line(1))
    log.look()

    def refuse(path: Path) -> LogFile:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("nwx.bulk.log_follower.LogFile", refuse)
    with pytest.raises(SourceError, match=r"crawl\.log cannot be read: Permission denied"):
        log.follower.read(log.place)


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
