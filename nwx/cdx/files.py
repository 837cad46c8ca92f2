"""Reading of CDX and CDXJ files, with or without headers, and the lines of ZipNum indexes."""

import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from isal import isal_zlib

from nwx.bulk.whole_files import address_stream, is_address, standard_input
from nwx.cdx.layouts import LAYOUTS, LIST_LAYOUTS, Layout, parse_header
from nwx.cdx.rows import CdxRow, is_cdxj, parse_cdx, parse_cdxj, parse_listed
from nwx.errors import CdxError, FormatError, SourceError
from nwx.model import STANDARD_INPUT
from nwx.values.zstd import zstd

MAX_LINE_BYTES = 1 << 20
"""The maximum length of a line; longer ones are reported and skipped."""

BUFFER_BYTES = 1 << 20

_BLOCK_BYTES = 1 << 18
_MEMBER_BYTES = 1 << 18
_GZIP = b"\x1f\x8b"
_DAMAGE = (OSError, EOFError, cast(type[Exception], isal_zlib.error), zstd.ZstdError)
_ZSTD = (b"\x28\xb5\x2f\xfd", b"\x50\x2a\x4d\x18")


class CdxParser:
    """A parser for the consecutive lines of one file, which applies its headers.

    `begun` means that the file has earlier lines, which are not parsed.
    """

    def __init__(self, file: str, layout: Layout | None = None, *, begun: bool = False) -> None:
        self.file = file
        self.layout = layout
        self._begun = begun

    def parse(self, line: bytes, number: int) -> CdxRow | None:
        """Return the row of a line, None for headers, `!` lines and empty lines.

        Raises CdxError with the name of the file and `number`.
        """
        line = line.rstrip(b"\r\n")
        try:
            return self._parse(line)
        except CdxError as error:
            raise CdxError(str(error), self.file, number) from error

    def _parse(self, line: bytes) -> CdxRow | None:
        if not line or line.startswith(b"!"):
            return None
        if len(line) > MAX_LINE_BYTES:
            raise CdxError(f"a line of {len(line)} bytes; at most {MAX_LINE_BYTES} are allowed")
        if b"CDX" in line[:4]:
            layout = parse_header(line)
            if layout is not None:
                self._follow(layout)
                return None
        self._begun = True
        if self.layout in LIST_LAYOUTS:
            return parse_listed(line)
        return parse_cdxj(line) if is_cdxj(line) else parse_cdx(line, self.layout)

    def _follow(self, layout: Layout) -> None:
        # In concatenated or shuffled files, a usual header between lines that
        # are recognized by their number of fields adds no information.
        usual = LAYOUTS.get(len(layout.letters)) == layout
        if self.layout is not None or not usual or not self._begun:
            self.layout = layout


def read_cdx(
    path: str,
    on_error: Callable[[CdxError], None],
    layout: Layout | None = None,
    on_line: Callable[[int], None] = lambda size: None,
) -> Iterator[CdxRow]:
    """Yield the rows of a file or address (`-`: stdin); broken lines go to `on_error`.

    `on_line` is called with the bytes of each line, broken ones included. Raises SourceError if the
    file cannot be read.
    """
    parser = CdxParser(path, layout)
    with open_cdx(path) as stream:
        for number, line in enumerate(lines_of(stream), 1):
            on_line(len(line))
            try:
                found = parser.parse(line, number)
            except CdxError as error:
                on_error(error)
                continue
            if found is not None:
                yield found


def lines_of(stream: BinaryIO) -> Iterator[bytes]:
    """Yield lines; one beyond MAX_LINE_BYTES is truncated to a length that is still too long."""
    while line := stream.readline(MAX_LINE_BYTES + 2):
        yield line
        while len(line) == MAX_LINE_BYTES + 2 and not line.endswith(b"\n"):
            line = stream.readline(MAX_LINE_BYTES + 2)


def whole_line_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield blocks of whole lines, some hundred kB each; the last may lack its newline.

    A line beyond MAX_LINE_BYTES is truncated, to a length that is still too long.
    """
    while block := stream.read(_BLOCK_BYTES):
        if not block.endswith(b"\n"):
            rest = stream.readline(MAX_LINE_BYTES + 2)
            block += rest
            while len(rest) == MAX_LINE_BYTES + 2 and not rest.endswith(b"\n"):
                rest = stream.readline(MAX_LINE_BYTES + 2)
        yield block


def open_cdx(path: str) -> io.BufferedReader:
    """Open a file, an address or standard input (`-`), and return its decompressed stream.

    Raises SourceError if it cannot be read, also later when reading.
    """
    raw = standard_input() if path == STANDARD_INPUT else _opened(path)
    return io.BufferedReader(_Decompressed(cast(io.BufferedReader, raw), path), BUFFER_BYTES)


def compression(path: str) -> str:
    """Return the compression of a file by its first bytes: `gzip`, `zstd` or ""."""
    with _opened(path) as stream:
        return _compression(stream.peek(4))


def _opened(path: str) -> io.BufferedReader:
    with SourceError.instead_of(OSError, f"{path} cannot be opened"):
        if is_address(path):
            return io.BufferedReader(cast(io.RawIOBase, address_stream(path)), BUFFER_BYTES)
        return io.BufferedReader(Path(path).open("rb", buffering=0), BUFFER_BYTES)


def _compression(start: bytes) -> str:
    if start.startswith(_GZIP):
        return "gzip"
    return "zstd" if start.startswith(_ZSTD) else ""


class _Decompressed(io.RawIOBase):
    """The decompressed content of a file; read errors are raised as SourceError."""

    def __init__(self, raw: io.BufferedReader, path: str) -> None:
        self._raw = raw
        self._path = path
        self._stream: Any = raw
        kind = _compression(raw.peek(4))
        if kind == "gzip":
            self._stream = _Members(raw)
        elif kind == "zstd":
            self._stream = zstd.ZstdFile(raw)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._stream is self._raw and self._raw.seekable()

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return self._raw.seek(offset, whence)

    def tell(self) -> int:
        return self._raw.tell()

    def readinto(self, buffer: Any) -> int:
        try:
            return cast(int, self._stream.readinto(buffer))
        except _DAMAGE as error:
            raise SourceError(
                f"{self._path} cannot be read further: {error}; is it truncated or damaged?"
            ) from error

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _Members:
    """The lines of a gzip file, member by member.

    A newline is added to a member without one at its end, as in pywb's ZipNum files.
    """

    def __init__(self, raw: io.BufferedReader) -> None:
        self._raw = raw
        self._rest = b""
        self._member: Any = None
        self._ended = True

    def readinto(self, buffer: Any) -> int:
        data = b""
        while not data:
            if self._member is None:
                if not self._begin():
                    return 0
                if not self._ended:
                    data = b"\n"
            data = data or self._decompress(len(buffer))
        self._ended = data.endswith(b"\n")
        buffer[: len(data)] = data
        return len(data)

    def _decompress(self, size: int) -> bytes:
        data = cast(bytes, self._member.decompress(self._rest, size))
        self._rest = self._member.unconsumed_tail
        if self._member.eof:
            self._rest = self._member.unused_data
            self._member = None
        elif not data and not self._rest:
            self._rest = self._raw.read1(_MEMBER_BYTES)
            if not self._rest:
                raise EOFError("the data end inside a gzip member")
        return data

    def _begin(self) -> bool:
        while not self._rest.lstrip(b"\0"):  # some writers pad with zeros
            self._rest = self._raw.read1(_MEMBER_BYTES)
            if not self._rest:
                return False
        self._rest = self._rest.lstrip(b"\0")
        self._member = isal_zlib.decompressobj(wbits=31)
        return True


CDXJ_GZIP = "cdxj-gzip-1.0"
META = b"!meta"
MOST_BLOCK_BYTES = 1 << 28
"""The maximum stored size of a block; index lines with a larger one are invalid."""

_NUMBER = re.compile(rb"[0-9]{1,18}")
_SHOWN_BYTES = 80


@dataclass(frozen=True, slots=True)
class ZipNumBlock:
    """A gzip member of CDX lines: its location, and the key of its first line.

    `key` is the urlkey and timestamp of that line, `part` the name of the member's file. `lineno`
    is the number of the index line in the whole index, from 1, None if missing. `digest` is
    `sha256:hex`, in WACZ files only.
    """

    key: bytes
    part: str
    offset: int
    length: int
    lineno: int | None = None
    digest: str = ""


def parse_index_line(line: bytes, part: str = "") -> ZipNumBlock:
    """Parse an index line, without newline.

    `part` is the block file of a WACZ-form line. Raises FormatError on an invalid line.
    """
    if b"\t" in line:
        return _parse_classic(line)
    key, brace, _ = line.partition(b" {")
    if not brace:
        raise FormatError(f"not a line of a ZipNum index: {line[:_SHOWN_BYTES]!r}")
    found = _object(line[len(key) + 1 :])
    digest = found.get("digest", "")
    return ZipNumBlock(
        key=key,
        part=part or str(found.get("filename", "")),
        offset=_whole(found.get("offset"), line),
        length=_length(_whole(found.get("length"), line), line),
        digest=digest if isinstance(digest, str) else "",
    )


def _parse_classic(line: bytes) -> ZipNumBlock:
    key, *fields = line.rstrip(b"\r").split(b"\t")
    if len(fields) not in (3, 4):
        raise FormatError(f"{len(fields) + 1} fields, expected 4 or 5: {line[:_SHOWN_BYTES]!r}")
    numbers = fields[1:]
    if not all(_NUMBER.fullmatch(number) for number in numbers):
        raise FormatError(
            f"an offset, length or line number is not a number: {line[:_SHOWN_BYTES]!r}"
        )
    return ZipNumBlock(
        key=key,
        part=_text(fields[0]),
        offset=int(numbers[0]),
        length=_length(int(numbers[1]), line),
        lineno=int(numbers[2]) if len(numbers) == 3 else None,
    )


def format_index_line(block: ZipNumBlock) -> bytes:
    """Return the classic line of a block, with its newline."""
    lineno = b"" if block.lineno is None else b"\t%d" % block.lineno
    part = block.part.encode("utf-8", "surrogateescape")
    return b"%b\t%b\t%d\t%d%b\n" % (block.key, part, block.offset, block.length, lineno)


def format_wacz_line(block: ZipNumBlock) -> bytes:
    """Return the index line of a block in the form of WACZ files, with its newline."""
    values = {"offset": block.offset, "length": block.length, "digest": block.digest}
    return block.key + b" " + json.dumps(values).encode() + b"\n"


def format_meta(part: str) -> bytes:
    """Return the first line (`!meta`) of an index in the form of WACZ files."""
    return b"!meta 0 " + json.dumps({"format": CDXJ_GZIP, "filename": part}).encode() + b"\n"


def parse_meta(line: bytes) -> str | None:
    """Return the file in a `!meta` line, None for any other line.

    Raises FormatError on a line without a file, or with another block format.
    """
    if not line.startswith(META):
        return None
    _, _, text = line.partition(b"{")
    found = _object(b"{" + text)
    name, form = found.get("filename"), found.get("format", CDXJ_GZIP)
    if not isinstance(name, str) or not name:
        raise FormatError(f"the !meta line has no file name: {line[:_SHOWN_BYTES]!r}")
    if form != CDXJ_GZIP:
        raise FormatError(f"blocks of the format {form!r}; expected {CDXJ_GZIP}")
    return name


def parse_locations(content: bytes) -> dict[str, tuple[str, ...]]:
    """Return the paths of each part in a `.loc` file.

    Lines without a path are skipped, as in pywb.
    """
    locations: dict[str, tuple[str, ...]] = {}
    for line in content.splitlines():
        part, *paths = _text(line.rstrip()).split("\t")
        if part and any(paths):
            locations[part] = tuple(path for path in paths if path)
    return locations


def format_locations(locations: dict[str, tuple[str, ...]]) -> bytes:
    """Return the content of a `.loc` file."""
    lines = ("\t".join((part, *paths)) + "\n" for part, paths in locations.items())
    return "".join(lines).encode("utf-8", "surrogateescape")


def block_key(line: bytes) -> bytes:
    """Return the urlkey and timestamp of a CDX line: the key of its index line."""
    return b" ".join(line.split(b" ", 2)[:2])


def _object(text: bytes) -> dict[str, Any]:
    if len(text) > MAX_LINE_BYTES:
        raise FormatError(f"a line of {len(text)} bytes; at most {MAX_LINE_BYTES} are allowed")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"invalid JSON ({error}): {text[:_SHOWN_BYTES]!r}") from error
    if not isinstance(found, dict):
        raise FormatError(f"JSON that is not an object: {text[:_SHOWN_BYTES]!r}")
    return found


def _whole(value: object, line: bytes) -> int:
    if isinstance(value, str) and _NUMBER.fullmatch(value.encode("utf-8", "replace")):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 60:
        return value
    raise FormatError(f"an offset or length is missing or not a number: {line[:_SHOWN_BYTES]!r}")


def _length(length: int, line: bytes) -> int:
    if not 0 < length <= MOST_BLOCK_BYTES:
        raise FormatError(f"a block cannot have {length} bytes: {line[:_SHOWN_BYTES]!r}")
    return length


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
