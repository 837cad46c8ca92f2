"""CDX files in blocks of clean lines, for reading by column.

In a clean block, every line has the same fields, separated by one delimiter, and ends with a
newline. Most blocks of most files are already clean; in the others each line is parsed.
"""

import re
from collections.abc import Iterator, Sequence
from io import BufferedReader
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from nwx.cdx.files import MAX_LINE_BYTES, CdxParser, lines_of, open_cdx
from nwx.cdx.inputs import CdxSource, FilePiece, FileReading
from nwx.cdx.layouts import (
    CDX11,
    DATE_FIRST,
    DATE_LAST,
    LAYOUTS,
    LIST_LAYOUTS,
    NO_VALUE,
    Layout,
    parse_header,
    without_file_is_revisit,
)
from nwx.cdx.rows import format_cdx, is_cdxj, is_revisit_row
from nwx.errors import CdxError, SourceError

_BLOCK_BYTES = 2 << 20
PAD_BYTES = 1024
"""The number of zeros after a block, so that wide loads may read past its end."""
LONGEST_RUN_BYTES = 16 << 20

_PAD = bytes(PAD_BYTES)
_BYTES_TO_LOOK_AT = 1 << 12


class LongRunError(Exception):
    """A run of lines with the same first field is too long to be held in memory."""


def padded(content: bytes) -> bytes:
    """Return a block with its pad."""
    return content + _PAD


def raw_blocks(stream: BufferedReader, piece: FilePiece, *, by_run: bool) -> Iterator[bytes]:
    """Yield the lines of a piece in padded blocks; all line ends become newlines.

    With `by_run`, pieces and blocks begin and end only where the first field changes. Raises
    LongRunError if a run is too long, and SourceError at damage, after yielding the lines before.
    """
    position = _first_line_position(stream, piece, by_run=by_run)
    carried = b""
    while piece.end is None or position < piece.end:
        wanted = _BLOCK_BYTES if piece.end is None else min(_BLOCK_BYTES, piece.end - position)
        data, damage = _read(stream, wanted)
        if not data and damage is None:
            break
        position += len(data)
        whole = not carried or carried.endswith(b"\n")
        cut = _last_run(data, whole=whole) if by_run else data.rfind(b"\n") + 1
        if cut:
            yield _block(carried, memoryview(data)[:cut])
            carried = data[cut:]
        else:
            carried += data
            if len(carried) > MAX_LINE_BYTES and b"\n" not in carried:
                position += _skip_line(stream)
                carried = carried[: MAX_LINE_BYTES + 1] + b"\n"
            elif len(carried) > LONGEST_RUN_BYTES:
                raise LongRunError
        if damage is not None:
            raise damage
    if carried:
        yield _block(carried, _rest(stream, piece, carried, by_run=by_run))


def _read(stream: BufferedReader, wanted: int) -> tuple[bytes, SourceError | None]:
    """Return up to `wanted` bytes, and the error if not all could be read."""
    pieces = []
    try:
        while wanted and (piece := stream.read1(wanted)):
            pieces.append(piece)
            wanted -= len(piece)
    except SourceError as error:
        return b"".join(pieces), error
    return b"".join(pieces), None


def _block(*parts: bytes | memoryview) -> bytes:
    data = b"".join((*parts, _PAD))
    windows = data.find(b"\r\n", 0, _BYTES_TO_LOOK_AT) >= 0
    return data.replace(b"\r\n", b"\n") if windows else data


def _rest(stream: BinaryIO, piece: FilePiece, carried: bytes, *, by_run: bool) -> bytes:
    """Read the rest of the last line, or run, of a piece, from after the piece's end."""
    rest = b""
    if not carried.endswith(b"\n"):
        rest = stream.readline(MAX_LINE_BYTES + 2)
        if not rest.endswith(b"\n"):
            _skip_line(stream)
            rest += b"\n"
    if by_run and piece.end is not None:
        last = (carried + rest)[carried.rfind(b"\n", 0, len(carried) - 1) + 1 :]
        rest += _rest_of_run(stream, _first_field(last))
    return rest


def _first_line_position(stream: BinaryIO, piece: FilePiece, *, by_run: bool) -> int:
    if not piece.start:
        return 0
    if not by_run:
        stream.seek(piece.start - 1)
        return piece.start - 1 + len(stream.readline())
    back = min(piece.start, MAX_LINE_BYTES)
    stream.seek(piece.start - back)
    before = stream.read(back)
    position = piece.start - back + before.rfind(b"\n", 0, back - 1) + 1
    stream.seek(position)
    line = stream.readline()
    position += len(line)
    return position + _skip_run(stream, _first_field(line))


def _skip_run(stream: BinaryIO, first: bytes) -> int:
    skipped = 0
    while line := stream.readline():
        if not line.startswith(first):
            stream.seek(-len(line), 1)
            break
        skipped += len(line)
    return skipped


def _skip_line(stream: BinaryIO) -> int:
    skipped = 0
    while part := stream.readline(MAX_LINE_BYTES):
        skipped += len(part)
        if part.endswith(b"\n"):
            break
    return skipped


def _last_run(data: bytes, *, whole: bool) -> int:
    """Return the start of the last run of lines with the same first field.

    0 if it may start before the data. If not `whole`, the data begin within a line, which is
    ignored.
    """
    end = data.rfind(b"\n")
    begin = data.rfind(b"\n", 0, max(end, 0)) + 1
    first = _first_field(data[begin:end])
    while begin:
        before = data.rfind(b"\n", 0, begin - 1) + 1
        if not before and not whole:
            return 0
        if not data.startswith(first, before):
            return begin
        begin = before
    return 0


def _rest_of_run(stream: BinaryIO, first: bytes) -> bytes:
    lines = []
    size = 0
    while line := stream.readline(MAX_LINE_BYTES + 2):
        if not line.startswith(first):
            break
        lines.append(line if line.endswith(b"\n") else line + b"\n")
        size += len(line)
        if size > LONGEST_RUN_BYTES:
            raise LongRunError
    return b"".join(lines)


def _first_field(line: bytes) -> bytes:
    return line[: line.find(b" ") + 1] or line


_NEWLINE = 10
_BLANK = 32
_BRACE = 123
_HYPHEN = 45
_YEAR_DIGITS = 4
_NEVER = Layout("")
_SOME_FILE = "unknown"
_LINES_TO_LOOK_AT = 1000


class LineBlock(NamedTuple):
    """Clean lines: padded bytes, the field ends (one row a line), layout and line numbers."""

    data: bytes
    ends: NDArray[np.int64]
    layout: Layout
    lines: Sequence[int]


def blocks(piece: FilePiece, reading: FileReading, *, by_run: bool = False) -> Iterator[LineBlock]:
    """Yield the lines of a piece in clean blocks.

    With `by_run`, no run of lines with the same first field is split by the end of a block or
    piece. Raises SourceError if the file cannot be read, LongRunError if a run is too long.
    """
    source = piece.source
    start = start_of(source)
    parser = CdxParser(source.shown, start.parsed, begun=piece.start > 0)
    with open_cdx(source.path) as stream:
        for data in raw_blocks(stream, piece, by_run=by_run):
            if reading.line == 0 and piece.start == 0:
                data = _without_header(data, parser, reading)
            ends = _clean_ends(data, start.clean) if parser.layout == start.fast else None
            if ends is None:
                data, lines = _repaired(data, parser, start, reading)
                ends = _clean_ends(data, start.clean)
            else:
                lines = range(reading.line + 1, reading.line + 1 + len(ends))
                reading.line += len(ends)
            if ends is not None:
                yield LineBlock(data, ends, start.clean, lines)
    reading.layout_changed = parser.layout != start.parsed


class Start(NamedTuple):
    """The layouts for reading the lines of a file.

    `parsed` is the layout for single lines (None: chosen by their number of fields), `clean` the
    layout of clean blocks, `fast` the layout that `parsed` must equal for raw lines to be clean.
    """

    parsed: Layout | None
    clean: Layout
    fast: Layout | None


def start_of(source: CdxSource) -> Start:
    """Return the layouts for reading a source, determined by its first lines."""
    layout = source.layout
    with open_cdx(source.path) as stream:
        for _, line in zip(range(_LINES_TO_LOOK_AT), lines_of(stream), strict=False):
            line = line.rstrip(b"\r\n")
            found = _header_of(line)
            if found is not None:
                return _start(found)
            if line and not line.startswith(b"!") and (layout or _tells(line, source.held)):
                return _start(layout) if layout else _by_fields(line, source.held)
    return _start(layout) if layout else Start(None, CDX11, None)


def _header_of(line: bytes) -> Layout | None:
    try:
        return parse_header(line) if b"CDX" in line[:4] else None
    except CdxError:
        return None  # reported when the lines are read


def _start(layout: Layout) -> Start:
    clean = Layout(layout.letters)
    return Start(layout, clean, clean)


def _tells(line: bytes, held: bool) -> bool:
    """Return whether a line determines a layout: CDXJ, or a known number of fields."""
    fields = line.count(b" ") + 1
    is_listed = held and fields == len(DATE_FIRST.letters)
    return fields in LAYOUTS or is_listed or is_cdxj(line)


def _by_fields(line: bytes, held: bool) -> Start:
    if is_cdxj(line):
        return Start(None, CDX11, _NEVER)
    fields = line.split(b" ")
    if held and len(fields) == len(DATE_FIRST.letters):
        return _start(DATE_FIRST if fields[0].isdigit() else DATE_LAST)
    return Start(None, LAYOUTS.get(len(fields), CDX11), None)


def _without_header(data: bytes, parser: CdxParser, reading: FileReading) -> bytes:
    line, _, rest = data.partition(b"\n")
    if _header_of(line.rstrip(b"\r")) != parser.layout or parser.layout is None:
        return data
    reading.line += 1
    return rest


def _clean_ends(data: bytes, layout: Layout) -> NDArray[np.int64] | None:
    """Return the end of each field of each line, or None if a line is not clean."""
    fields = len(layout.letters)
    content = np.frombuffer(data, np.uint8, len(data) - PAD_BYTES)
    blanks = np.flatnonzero(content <= _BLANK)
    if not len(blanks) or len(blanks) % fields:
        return None
    ends = blanks.reshape(-1, fields)
    newlines = content[ends[:, -1]] == _NEWLINE
    if not newlines.all() or np.count_nonzero(content[blanks] == _BLANK) != len(blanks) - len(ends):
        return None
    if blanks[0] == 0 or (blanks[1:] - blanks[:-1]).min(initial=2) < 2:
        return None  # an empty field
    if (content[ends[:, 1] + 1] == _BRACE).any():
        return None  # CDXJ with the same number of blanks
    if _iso_dates(data, ends, layout):
        return None
    if layout in LIST_LAYOUTS and not _dates_in_place(content, ends, layout):
        return None
    return ends


def _iso_dates(data: bytes, ends: NDArray[np.int64], layout: Layout) -> bool:
    """Return whether a date has hyphens; clean lines have dates of digits only."""
    place = layout.place("b")
    starts = ends[:, place - 1] + 1 if place else np.append(0, ends[:-1, -1] + 1)
    return bool((np.frombuffer(data, np.uint8)[starts + _YEAR_DIGITS] == _HYPHEN).any())


def _dates_in_place(content: NDArray[np.uint8], ends: NDArray[np.int64], layout: Layout) -> bool:
    """Return whether all lines of an exclusion list have their date where the layout has it."""
    first = content[np.append(0, ends[:-1, -1] + 1)] - np.uint8(ord("0")) < 10
    return bool(first.all() if layout == DATE_FIRST else not first.any())


def _repaired(
    data: bytes, parser: CdxParser, start: Start, reading: FileReading
) -> tuple[bytes, Sequence[int]]:
    """Return the readable lines, cleaned and padded, and their line numbers."""
    clean = re.compile(rb"[^\x00-\x20]+(?: [^\x00-\x20]+){%d}" % (len(start.clean.letters) - 1))
    lines, numbers = [], []
    for line in data[: len(data) - PAD_BYTES].split(b"\n")[:-1]:
        reading.line += 1
        line = line.rstrip(b"\r")
        usual = parser.layout == start.fast and start.clean not in LIST_LAYOUTS
        if not (usual and clean.fullmatch(line) and not is_cdxj(line)) or _is_iso(line, start):
            line = _parsed(line, parser, start.clean, reading)
        if line:
            lines.append(line)
            numbers.append(reading.line)
    return padded(b"".join([line + b"\n" for line in lines])), numbers


def _is_iso(line: bytes, start: Start) -> bool:
    fields = line.split(b" ")
    place = start.clean.place("b")
    return place < len(fields) and fields[place][_YEAR_DIGITS : _YEAR_DIGITS + 1] == b"-"


def _parsed(line: bytes, parser: CdxParser, layout: Layout, reading: FileReading) -> bytes:
    try:
        found = parser.parse(line, reading.line)
    except CdxError as error:
        reading.add(error)
        return b""
    if found is None:
        return b""
    # A missing file name would turn other captures into revisits.
    if without_file_is_revisit(layout) and found.filename == NO_VALUE and not is_revisit_row(found):
        found = found._replace(filename=_SOME_FILE)
    return format_cdx(found, layout).encode("utf-8", "surrogateescape")
