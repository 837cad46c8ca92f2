"""A file on its way into an archive."""

from dataclasses import replace

from nwx.importing.file_queue.job import Job
from nwx.model import SourceFile
from nwx.warc.sources import ArchiveSource


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
