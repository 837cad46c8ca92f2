"""A parent learns why a process that reads has ended."""

from pathlib import Path

from nwx.engine.open import open_engine
from nwx.importing.messages import Delivery, FileTask, PipeRequest, Verdict
from nwx.importing.options import ImportOptions
from nwx.importing.report import Outcome
from nwx.importing.worker_process import Worker
from nwx.settings import Settings
from nwx.warc.sources import ArchiveSource


def worker_in(folder: Path) -> Worker:
    settings = Settings(str(folder / "archive"))
    with open_engine(settings) as engine:
        engine.create()
    return Worker(settings, ImportOptions(), folder / "log", None)


def test_a_worker_answers_until_it_is_ended(tmp_path: Path) -> None:
    worker = worker_in(tmp_path)
    missing = str(tmp_path / "none.warc.gz")
    worker.give(FileTask(ArchiveSource("none.warc.gz", missing, None), missing, None))
    assert worker.connection.recv() is PipeRequest.TASK
    worker.ask_delivery()
    answer = worker.connection.recv()
    assert isinstance(answer, Delivery)
    assert answer.messages[-1] == (0, Verdict(Outcome.UNREADABLE))
    assert worker.is_alive
    worker.end()


def test_a_worker_ends_when_its_parent_lets_go(tmp_path: Path) -> None:
    worker = worker_in(tmp_path)
    worker.connection.close()
    assert worker.cause_of_death() == "failed: no reason given"
    worker.end()
