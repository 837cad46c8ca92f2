"""The block of a stored record, read by the place of its capture, and looked at on the way."""

import io
from collections.abc import Callable
from typing import NamedTuple

from nwx.engine.file_places import FilePlaces
from nwx.errors import ErrorText, FormatError, SourceError, UrlError
from nwx.model import Capture
from nwx.values.urls import clean_url
from nwx.warc.members import is_damaged, record_at
from nwx.warc.record import MAX_HEAD_BYTES, WARC_MAGIC, Head, arc_head, warc_head
from nwx.warc.sources import ArchiveSource

_RECORD_END = 5


class StoredBlock(NamedTuple):
    """The head of a record, its block, and the lines of the head as they are stored."""

    head: Head
    block: bytes
    lines: bytes


def block_of_capture(places: FilePlaces, capture: Capture, limit: int) -> StoredBlock:
    """Return the stored block of a capture, of at most `limit` bytes.

    Raises SourceError where its file cannot be read, and FormatError where
    another record or a damaged one is in its place, and for a longer one.
    """
    path = places.path(capture.collection, capture.source_file)
    if path is None:
        raise SourceError(
            ErrorText("nobody knows where %(source_file)s is", source_file=capture.source_file)
        )
    member = capture.source_file.partition("#")[2]
    source = ArchiveSource(capture.source_file, path, None, member)
    offset = capture.source_file_offset
    return block_at(source, offset, limit, lambda uri: uri == capture.url)


def block_at(
    source: ArchiveSource, offset: int, limit: int, is_wanted: Callable[[str], bool]
) -> StoredBlock:
    """Return the block of the record at an offset, if its target URI is wanted.

    Raises as `block_of_capture` does.
    """
    try:
        with _record(source, offset) as record:
            return _parts(record, limit, is_wanted)
    except FormatError as error:
        raise FormatError(error.text, source.name, offset) from error
    except (OSError, EOFError) as error:
        raise SourceError(
            ErrorText("%(path)s cannot be read: %(reason)s", path=source.path, reason=error)
        ) from error


def _record(source: ArchiveSource, offset: int) -> io.BufferedReader:
    handle = source.open()
    try:
        record = record_at(handle, offset)
        if record is None:
            raise FormatError(ErrorText("no record is at its place"))
    except BaseException:
        handle.close()
        raise
    return record


def _parts(record: io.BufferedReader, limit: int, is_wanted: Callable[[str], bool]) -> StoredBlock:
    """Return the head and the block of a record; a long one is not read."""
    head, lines = _head(record)
    if head is None or not is_wanted(target_uri_of(head)):
        raise FormatError(ErrorText("another record is in its place"))
    length = head.length or 0
    if length > limit:
        raise FormatError(
            ErrorText(
                "the record has %(length)s bytes, %(limit)s are read", length=length, limit=limit
            )
        )
    block = record.read(length)
    record.read(_RECORD_END)  # up to where the checksum of a member is compared
    if len(block) < length or is_damaged(record):
        raise FormatError(ErrorText("the record is damaged"))
    return StoredBlock(head, block, lines)


def _head(record: io.BufferedReader) -> tuple[Head | None, bytes]:
    lines = record.readline(MAX_HEAD_BYTES)
    if not lines.startswith(WARC_MAGIC):
        return arc_head(lines), lines
    while (line := record.readline(MAX_HEAD_BYTES)) not in (b"\r\n", b"\n", b""):
        lines += line
        if len(lines) > MAX_HEAD_BYTES:
            return None, lines
    return warc_head(lines, 0, len(lines)), lines


def target_uri_of(head: Head) -> str:
    """Return the target URI of a record as captures have it, "" where it has none."""
    try:
        return clean_url(head.fields.get(b"warc-target-uri"))
    except UrlError:
        return ""
