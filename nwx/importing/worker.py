"""A process that reads files and may die of any document."""

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from nwx.bulk.guarded_process import ItemGuard, Pulse
from nwx.bulk.retries import retry_unavailable
from nwx.engine.open import open_engine
from nwx.errors import NwxError
from nwx.importing.archive_file import import_file
from nwx.importing.collector import KnownLookup, ListLookupFunction, Memory, PurgedLookup
from nwx.importing.extracted.sources import ExtractedFile
from nwx.importing.messages import FilePart, FileTask, Message, Outbox, PipeRequest, Verdict
from nwx.importing.options import ImportOptions
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.dedup.exclusion_lists import ListFiles


def work(
    connection: "Connection[Message, FileTask | PipeRequest]",
    pulse: Pulse,
    settings: Settings,
    options: ImportOptions,
    excluded: "ListFiles | None",
) -> None:
    """Import the files that come over a connection, until its other end is closed."""
    guard, memory = ItemGuard(pulse, options.item_seconds), Memory()

    def moved(position: int) -> None:
        pulse.position = position

    try:
        with open_engine(settings, read_only=True) as engine, _looked_up(excluded) as listed:

            def known(ids: Collection[str]) -> dict[str, int]:
                return retry_unavailable(lambda: engine.known(ids), options.patience_seconds)

            access = engine.access_index()
            outbox = Outbox(connection.send, engine.staging(), options.patience_seconds)
            while True:
                task = connection.recv()
                if isinstance(task, PipeRequest):
                    outbox.deliver()
                    continue
                # Looked up for each file: a rule may have been made since the import began.
                purges = retry_unavailable(access.rules, options.patience_seconds).purges
                if isinstance(task.source, ExtractedFile):
                    messages = _loaded(task, options, known, moved, memory, listed, purges)
                else:
                    messages = import_file(
                        task, options, known, guard, moved, memory, listed, purges
                    )
                for message in messages:
                    outbox.add(task, message)
                connection.send(PipeRequest.TASK)
    except NwxError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


def _loaded(
    task: FileTask,
    options: ImportOptions,
    known: KnownLookup,
    moved: Callable[[int], None],
    memory: Memory,
    listed: ListLookupFunction | None,
    purged: PurgedLookup,
) -> Iterator[FilePart | Verdict]:
    """Return the parts and the verdict of a file that was extracted elsewhere."""
    from nwx.importing.extracted.loaded_parts import LoadLookups, load_file  # reads Parquet

    return load_file(task, options, LoadLookups(known, listed, purged, memory), moved)


@contextmanager
def _looked_up(excluded: "ListFiles | None") -> Iterator[ListLookupFunction | None]:
    """Give what tells whether a capture is on the exclusion list, if there is one."""
    if excluded is None:
        yield None
        return
    from nwx.dedup.exclusion_lists import ListLookup  # takes long, and few imports need it

    with ListLookup(excluded) as lookup:
        yield lookup.covers
