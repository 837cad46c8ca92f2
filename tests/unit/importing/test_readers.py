"""The files assigned to a reading process."""

import subprocess
import sys
from pathlib import Path

import pytest

from nwx.engine.base import open_engine
from nwx.importing import readers
from nwx.importing.file_queue import Job
from nwx.importing.messages import Delivery, Outcome, PipeRequest, Verdict
from nwx.importing.options import ImportOptions
from nwx.importing.readers import Reader
from nwx.settings import Settings
from nwx.warc.sources import ArchiveSource
from tests.warcs import many_pages, write_warc


def test_a_reader_has_files_until_they_are_delivered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(str(tmp_path / "archive"))
    with open_engine(settings) as engine:
        engine.create()
        reader = Reader(settings, ImportOptions(), None)
        path = write_warc(tmp_path / "a.warc.gz", many_pages(3))
        size = path.stat().st_size
        jobs = [Job(ArchiveSource(name, str(path), size), str(path), None) for name in ("a", "b")]
        for job in jobs:
            assert reader.has_room
            reader.read(job, staged=True)
            assert reader.current is job
            assert not reader.has_room
            assert reader.connection.recv() is PipeRequest.TASK
            reader.has_read()
            assert reader.current is None
        assert reader.position == 2 * size
        monkeypatch.setattr(readers, "UNDELIVERED_BYTES", 1)
        assert reader.is_waiting
        assert not reader.has_room
        reader.deliver()
        assert not reader.is_waiting
        delivery = reader.connection.recv()
        assert delivery.staged
        for number, message in delivery.messages:
            if isinstance(message, Verdict):
                reader.has_delivered(number)
        assert not reader.jobs
        assert reader.is_waiting
        reader.end()


def reader_in(folder: Path) -> Reader:
    settings = Settings(str(folder / "archive"))
    with open_engine(settings) as engine:
        engine.create()
    return Reader(settings, ImportOptions(), None)


def test_a_reader_answers_until_it_is_ended(tmp_path: Path) -> None:
    reader = reader_in(tmp_path)
    missing = str(tmp_path / "none.warc.gz")
    reader.read(Job(ArchiveSource("none.warc.gz", missing, None), missing, None), staged=True)
    assert reader.connection.recv() is PipeRequest.TASK
    reader.deliver()
    answer = reader.connection.recv()
    assert isinstance(answer, Delivery)
    assert answer.messages[-1] == (0, Verdict(Outcome.UNREADABLE))
    assert reader.is_alive
    reader.end()


def test_a_reader_ends_when_its_parent_lets_go(tmp_path: Path) -> None:
    reader = reader_in(tmp_path)
    reader.connection.close()
    assert reader.cause_of_death() == ("failed: no reason given", False)
    reader.end()


def test_what_reads_archive_files_loads_no_libraries_of_tables() -> None:
    code = "import sys, nwx.importing.worker; print({'polars', 'pyarrow'} & {*sys.modules})"
    found = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, check=True)
    assert found.stdout == b"set()\n"
