"""A process that reads files and may die of any document."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path

from nwx.bulk.guarded_process import ItemGuard, Pulse, prepare_process
from nwx.bulk.retries import retry_unavailable
from nwx.dedup.exclusion_lists import ListFiles, ListLookup
from nwx.engine.open import open_engine
from nwx.errors import NwxError
from nwx.importing.archive_file import import_file
from nwx.importing.collector import ListLookupFunction, Memory
from nwx.importing.messages import FilePart, FileTask, Message
from nwx.importing.options import ImportOptions
from nwx.model import Batch
from nwx.settings import Settings


def work(
    connection: "Connection[Message, FileTask]",
    pulse: Pulse,
    settings: Settings,
    options: ImportOptions,
    log: Path,
    excluded: ListFiles | None,
) -> None:
    """Import the files that come over a connection, until its other end is closed."""
    prepare_process(options.item_bytes, log)
    guard, memory = ItemGuard(pulse, options.item_seconds), Memory()

    def moved(position: int) -> None:
        pulse.position = position

    try:
        with open_engine(settings, read_only=True) as engine, _looked_up(excluded) as listed:

            def known(ids: Collection[str]) -> dict[str, int]:
                return retry_unavailable(lambda: engine.known(ids), options.patience_seconds)

            def staged(message: Message) -> Message:
                if not isinstance(message, FilePart) or not isinstance(message.batch, Batch):
                    return message
                if message.late:
                    return message
                batch, seconds = message.batch, options.patience_seconds
                ready = retry_unavailable(lambda: engine.stage(batch), seconds)
                return replace(message, batch=ready)

            while True:
                task = connection.recv()
                for message in import_file(task, options, known, guard, moved, memory, listed):
                    connection.send(staged(message) if task.staged else message)
    except NwxError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


@contextmanager
def _looked_up(excluded: ListFiles | None) -> Iterator[ListLookupFunction | None]:
    """Give what tells whether a capture is on the exclusion list, if there is one."""
    if excluded is None:
        yield None
        return
    with ListLookup(excluded) as lookup:
        yield lookup.covers
