"""The text formats of a ZipNum index: `.idx` and `.loc` lines, parsed and written.

Index lines have two forms. The classic one, of Internet Archive, Common Crawl and pywb, is
`urlkey timestamp TAB part TAB offset TAB length TAB lineno`. In WACZ files a first `!meta` line
names the file of all blocks, and the following lines are `urlkey timestamp {json}`.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from nwx.cdx.files import MAX_LINE_BYTES
from nwx.errors import FormatError

CDXJ_GZIP = "cdxj-gzip-1.0"
META = b"!meta"
MOST_BLOCK_BYTES = 1 << 28
"""What a block may take as stored; an index that says more is not believed."""

_NUMBER = re.compile(rb"[0-9]{1,18}")
_SHOWN_BYTES = 80


@dataclass(frozen=True, slots=True)
class ZipNumBlock:
    """A gzip member of CDX lines: its location, and the key of its first line.

    `key` is the urlkey and timestamp of that line, `part` the name of the member's file. `lineno`
    is the number of the index line in the whole index, from 1, None if missing. `digest` is
    `sha256:hex` in WACZ files.
    """

    key: bytes
    part: str
    offset: int
    length: int
    lineno: int | None = None
    digest: str = ""


def parse_index_line(line: bytes, part: str = "") -> ZipNumBlock:
    """Return the block of an index line without newline.

    `part` is the block file of a WACZ-form line. Raises FormatError on an invalid line.
    """
    if b"\t" in line:
        return _parse_classic(line)
    key, brace, _ = line.partition(b" {")
    if not brace:
        raise FormatError(f"no line of a ZipNum index: {line[:_SHOWN_BYTES]!r}")
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
        raise FormatError(
            f"{len(fields) + 1} fields where 4 or 5 are needed: {line[:_SHOWN_BYTES]!r}"
        )
    numbers = fields[1:]
    if not all(_NUMBER.fullmatch(number) for number in numbers):
        raise FormatError(f"an offset, length or line number is none: {line[:_SHOWN_BYTES]!r}")
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
    """Return the line of a block as WACZ files have it, with its newline."""
    values = {"offset": block.offset, "length": block.length, "digest": block.digest}
    return block.key + b" " + json.dumps(values).encode() + b"\n"


def format_meta(part: str) -> bytes:
    """Return the first line of an index as WACZ files have it."""
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
        raise FormatError(f"the !meta line names no file: {line[:_SHOWN_BYTES]!r}")
    if form != CDXJ_GZIP:
        raise FormatError(f"blocks of the format {form!r}; {CDXJ_GZIP} is read")
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
    """Return the urlkey and timestamp of a CDX line, as an index line begins."""
    return b" ".join(line.split(b" ", 2)[:2])


def _object(text: bytes) -> dict[str, Any]:
    if len(text) > MAX_LINE_BYTES:
        raise FormatError(f"a line of {len(text)} bytes; {MAX_LINE_BYTES} are taken")
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"JSON that cannot be read ({error}): {text[:_SHOWN_BYTES]!r}") from error
    if not isinstance(found, dict):
        raise FormatError(f"JSON that is no object: {text[:_SHOWN_BYTES]!r}")
    return found


def _whole(value: object, line: bytes) -> int:
    if isinstance(value, str) and _NUMBER.fullmatch(value.encode("utf-8", "replace")):
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 60:
        return value
    raise FormatError(f"an offset or length is missing or none: {line[:_SHOWN_BYTES]!r}")


def _length(length: int, line: bytes) -> int:
    if not 0 < length <= MOST_BLOCK_BYTES:
        raise FormatError(f"a block cannot have {length} bytes: {line[:_SHOWN_BYTES]!r}")
    return length


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
