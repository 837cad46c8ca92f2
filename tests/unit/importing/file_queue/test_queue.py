"""The files of the one importer of an archive."""

from nwx.importing.file_queue.job import Job
from nwx.importing.file_queue.queue import FileQueue
from nwx.model import SourceFile
from nwx.warc.sources import ArchiveSource


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
    queue.keep()
    queue.done(taken)
    assert not queue.has_lost(taken)
    assert queue.lost() == queue.done_by_others() == ()
    queue.end()
