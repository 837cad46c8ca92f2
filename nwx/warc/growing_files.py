"""The complete records of an archive file that is still being written."""

from collections.abc import Iterator
from dataclasses import replace

from nwx.errors import SourceError
from nwx.warc.members import READ_FAILURES, Members, open_members
from nwx.warc.record import RECORD_END, Record
from nwx.warc.record_groups import record_groups
from nwx.warc.scanner import Scanner
from nwx.warc.sources import ArchiveSource

_KEPT_BYTES = 1 << 20
_STEP_BYTES = 64 << 20
"""So much of a file is read at once, so that a long one does not hold up the others."""


def grown_source(source: ArchiveSource, start: int, *, is_quiet: bool) -> ArchiveSource | None:
    """Return a file up to its last complete record, None if no record after `start` is complete.

    Records of one capture are written one after the other: the last ones count once the file
    `is_quiet`. A member with several records ends the reading, and so does damage; what follows is
    read when the file is closed.
    """
    try:
        with source.open() as handle:
            members = open_members(handle, start)
            if members.raw.offset != start:  # no record begins there yet
                return None
            end = _complete_end(members, start, is_quiet=is_quiet)
    except (SourceError, *READ_FAILURES):
        return None
    return replace(source, size=end, growing=True) if end > start else None


def _complete_end(members: Members, start: int, *, is_quiet: bool) -> int:
    last = start

    def complete() -> Iterator[Record]:
        nonlocal last
        scanner = Scanner(members, _KEPT_BYTES, lambda _: None)
        for record in scanner:
            if scanner.faults or not _is_alone(members, record):
                return
            last = record.offset + record.length
            yield record

    end = start
    for group in record_groups(complete()):
        end = group.next_offset or (last if is_quiet else end)
        if end - start > _STEP_BYTES:
            break
    return end


def _is_alone(members: Members, record: Record) -> bool:
    """Return whether a record fills its member; so does each one of a file without compression."""
    if not members.coding:
        return True
    is_read = members.data[members.pos :] in (b"", RECORD_END)
    return record.offset == members.start and members.ended and is_read and not members.broken
