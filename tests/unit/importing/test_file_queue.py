"""Names of importers, and which of this machine are still running."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.errors import SourceError
from nwx.importing import file_queue
from nwx.importing.file_queue import FileQueue, Job, is_known_dead, own_holder, spooled
from nwx.model import SourceFile
from nwx.warc.sources import ArchiveSource


def test_a_process_that_runs_is_not_dead_and_one_that_ended_is() -> None:
    assert not is_known_dead(own_holder())
    program = "from nwx.importing.file_queue import own_holder; print(own_holder())"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)
    assert is_known_dead(ended.stdout.decode().strip())


def test_another_process_with_the_same_number_is_not_the_holder() -> None:
    host, pid, machine, started, token = own_holder().split("/")
    assert is_known_dead("/".join((host, pid, machine, f"{int(started) - 1}", token)))


@pytest.mark.parametrize("name", ["", "host", "host/1/elsewhere/5/x", "host/x//5/x", "host/1//5/x"])
def test_nothing_is_known_of_other_machines(name: str) -> None:
    assert not is_known_dead(name)


def test_nothing_is_known_without_proc(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(file_queue, "_PROC", tmp_path)
    assert not is_known_dead(own_holder())
    assert own_holder() != own_holder()


def test_a_file_that_a_process_died_of_is_delivered_at_once() -> None:
    job = Job(ArchiveSource("a", "a", 7), "a", None)
    assert not job.task(0, staged=True).at_once
    job.without_text[5] = "crashed"
    assert job.task(0, staged=True).at_once
    job = Job(ArchiveSource("a", "a", None), "a", None)
    job.deaths = 1
    assert job.task(0, staged=True).at_once
    assert job.size == 0


def test_a_job_tells_whether_all_of_its_file_is_in_the_archive() -> None:
    job = Job(ArchiveSource("a", "/a", 7), "/a", None)
    assert job.name == "a"
    assert not job.is_finished
    job.entry = SourceFile("web", "a", "/a", 7, "")
    assert not job.is_finished
    job.entry = replace(job.entry, finished=True)
    assert job.is_finished


def job(name: str) -> Job:
    return Job(ArchiveSource(name, name, 7), name, None)


def test_files_come_in_their_order_those_put_back_first() -> None:
    queue = FileQueue(lambda files: None)
    a, b, c = map(job, "abc")
    queue.add([a, b])
    queue.add([c])
    assert queue.take() is a
    assert queue.take() is b
    queue.put_back([a, b])
    assert len(queue) == 3
    assert [queue.take() for _ in range(4)] == [a, b, c, None]
    assert not queue


def test_entries_are_written_and_nothing_is_ever_lost() -> None:
    written: list[SourceFile] = []
    queue = FileQueue(written.extend)
    entry = SourceFile("web", "a", "/a", 7, "")
    queue.record(())
    queue.record([entry])
    queue.note_unread([entry])
    assert written == [entry, entry]
    taken = job("a")
    queue.renew_claims()
    queue.done(taken)
    assert not queue.has_lost(taken)
    assert queue.lost() == queue.done_by_others() == ()
    queue.end()


def test_it_is_kept_as_it_is(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.write_bytes(b"x" * 3_000_000)
    kept = spooled(ArchiveSource("a", str(given), None), tmp_path, lambda: False)
    assert (kept.name, kept.size) == ("a", 3_000_000)
    assert Path(kept.path).read_bytes() == given.read_bytes()
    stopped = spooled(ArchiveSource("a", str(given), None), tmp_path, lambda: True)
    assert stopped.size == 0


def test_a_folder_that_cannot_take_it_is_an_error(tmp_path: Path) -> None:
    given = tmp_path / "given"
    given.touch()
    with pytest.raises(SourceError, match="standard input cannot be saved"):
        spooled(ArchiveSource("a", str(given), None), tmp_path / "none", lambda: False)
