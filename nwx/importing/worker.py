"""A process that reads files and may die of any document."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, TypeVar

from nwx.bulk.guarded_process import ItemGuard, Pulse
from nwx.bulk.progress import retry_unavailable
from nwx.engine.base import Engine, open_engine
from nwx.engine.joined_dates import dates_of_documents
from nwx.errors import NwxError
from nwx.importing.archive_file import import_file
from nwx.importing.collector import ListLookupFunction, Lookups, Memory
from nwx.importing.extracted.notes import ExtractedFile
from nwx.importing.messages import FileTask, Message, Outbox, PipeRequest
from nwx.importing.options import ImportOptions
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.dedup.exclusion_lists import ListFiles

_T = TypeVar("_T")


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
            outbox = Outbox(connection.send, engine.staging(), options.patience_seconds)
            while True:
                task = connection.recv()
                if isinstance(task, PipeRequest):
                    outbox.deliver()
                    continue
                lookups = _lookups(engine, options, listed, memory)
                if isinstance(task.source, ExtractedFile):
                    from nwx.importing.extracted.loaded_parts import load_file  # reads Parquet

                    messages = load_file(task, options, lookups, moved)
                else:
                    messages = import_file(task, options, lookups, guard, moved)
                for message in messages:
                    outbox.add(task, message)
                connection.send(PipeRequest.TASK)
    except NwxError as error:
        connection.send(error)
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return  # the parent is gone


def _lookups(
    engine: Engine, options: ImportOptions, listed: ListLookupFunction | None, memory: Memory
) -> Lookups:
    """Return the lookups for a file: a rule may have been made since the import began."""

    def retried(call: Callable[[], _T]) -> _T:
        return retry_unavailable(call, options.patience_seconds)

    lookups = Lookups(
        lambda ids: retried(lambda: engine.known(ids)),
        listed,
        retried(engine.access_index().rules).purges,
        memory,
    )
    if options.digests != "sha256" and not retried(engine.digests.is_made):
        return lookups
    return replace(lookups, joined=lambda dates: retried(lambda: dates_of_documents(engine, dates)))


@contextmanager
def _looked_up(excluded: "ListFiles | None") -> Iterator[ListLookupFunction | None]:
    """Yield the exclusion list lookup, or None without a list."""
    if excluded is None:
        yield None
        return
    from nwx.dedup.exclusion_lists import ListLookup  # takes long, and few imports need it

    with ListLookup(excluded) as lookup:
        yield lookup.covers
