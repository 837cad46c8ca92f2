"""What a WARC file of renders holds already: whole records, and the pages that are done."""

import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from nwx.errors import SourceError, TimestampError
from nwx.values.render_names import RenderKind, render_name
from nwx.values.timestamps import normal_timestamp

_GZIP = 31
_PIECE = 1 << 18
_HEAD_BYTES = 1 << 16


class RenderedPage(NamedTuple):
    """A page whose renders are in a file: its URL, and its time in 14 digits."""

    url: str
    timestamp: str


class _Member(NamedTuple):
    """A whole gzip member: where it ends, and the first bytes of what it holds."""

    end: int
    head: bytes


def whole_bytes(path: Path) -> int:
    """Return the length of a file up to the end of its last whole record.

    Raises SourceError where it does not begin as a WARC file of gzip
    members does, or cannot be read.
    """
    end = 0
    for member in _members(path):
        end = member.end
    return end


def rendered_pages(path: Path) -> set[RenderedPage]:
    """Return the pages that are done in a file of renders, none where there is no file.

    A page is done with its page information, which is written last.
    """
    if not path.exists():
        return set()
    return {page for member in _members(path) if (page := _page(member.head)) is not None}


def _page(head: bytes) -> RenderedPage | None:
    """Return the page whose page information a record is, None for all other records."""
    fields = dict(_field(line) for line in head.partition(b"\r\n\r\n")[0].split(b"\r\n")[1:])
    name = render_name(fields.get("warc-target-uri", ""))
    if name is None or name.kind is not RenderKind.PAGEINFO:
        return None
    try:
        return RenderedPage(name.url, normal_timestamp(fields.get("warc-date", "")))
    except TimestampError:
        return None


def _field(line: bytes) -> tuple[str, str]:
    name, _, value = line.decode("utf-8", "replace").partition(":")
    return name.strip().lower(), value.strip()


def _members(path: Path) -> Iterator[_Member]:
    try:
        with path.open("rb") as handle:
            if handle.read(2) not in (b"\x1f\x8b", b""):
                raise SourceError(f"{path} is no WARC file of gzip members; name another file")
            handle.seek(0)
            yield from _whole_members(handle)
    except OSError as error:
        raise SourceError(f"{path} cannot be read: {error.strerror or error}") from error


def _whole_members(handle: BinaryIO) -> Iterator[_Member]:
    """Yield the members up to the first that is not whole."""
    start, rest = 0, b""
    while True:
        inflate = zlib.decompressobj(_GZIP)
        head, stored = b"", 0
        try:
            while not inflate.eof:
                piece = rest or handle.read(_PIECE)
                if not piece:
                    return
                rest = b""
                stored += len(piece)
                head = _inflated(inflate, piece, head)
        except zlib.error:
            return
        rest = inflate.unused_data
        start += stored - len(rest)
        if head.startswith(b"WARC/"):
            yield _Member(start, head)


def _inflated(inflate: "zlib._Decompress", piece: bytes, head: bytes) -> bytes:
    """Inflate a piece; return the first bytes of the member as far as they are known."""
    while piece and not inflate.eof:
        data = inflate.decompress(piece, _PIECE)
        if len(head) < _HEAD_BYTES:
            head += data[: _HEAD_BYTES - len(head)]
        piece = inflate.unconsumed_tail
    return head
