"""The parts of an office file: entries of an untrusted ZIP file, and their XML as events."""

import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from io import BytesIO
from posixpath import basename, dirname, join, normpath
from xml.parsers import expat

from nwx.extract.office import ZIP_MAGIC
from nwx.extract.office.text import Metadata, Stop
from nwx.extract.page import MIB, ExtractPayload

_HEAD = struct.Struct("<4s5H3I2H")
_DIRECTORY_MAGIC = b"PK\x01\x02"
_MOST_ENTRIES = 10_000
_STEP = 1 << 16
_MOST_UNPACKED = 1 << 18  # bytes of a piece
_STORED, _DEFLATED = zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED
_ENCRYPTED, _SIZES_FOLLOW = 0x01, 0x08
_BROKEN = (
    *(zipfile.BadZipFile, zipfile.LargeZipFile, struct.error),
    *(OSError, EOFError, ValueError, NotImplementedError, IndexError, OverflowError),
)


@dataclass(frozen=True, slots=True)
class _Entry:
    """The offset of an entry's data, its method, and its stored size, None if unknown."""

    start: int
    method: int
    size: int | None
    encrypted: bool


class Parts:
    """The parts of an office file by name; reading them appends to `problems`."""

    def __init__(self, payload: ExtractPayload, problems: list[str]) -> None:
        self._data = memoryview(payload.data)
        self._payload = payload
        self._left = payload.limits.unpacked_bytes
        self.problems = problems
        self._entries = self._listed(payload.data)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parts, in the order of the file."""
        return tuple(self._entries)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the unpacked data of a part in pieces; nothing for a missing part.

        Raises Stop if the limit of unpacked bytes or time is reached.
        """
        entry = self._entries.get(name)
        if entry is None:
            return
        if entry.encrypted or entry.method not in (_STORED, _DEFLATED):
            reason = "is encrypted" if entry.encrypted else f"is packed by method {entry.method}"
            self.problems.append(f"office: {name} {reason}")
            return
        is_stored = entry.method == _STORED
        for piece in self._stored(entry) if is_stored else self._inflated(name, entry):
            self._left -= len(piece)
            if self._left < 0:
                limit = self._payload.limits.unpacked_bytes // MIB
                raise Stop(f"size: more than {limit} MiB unpacked, the rest was left out")
            self.check_time()
            yield piece

    def check_time(self) -> None:
        """Raise Stop if half of the payload's time is over; the rest is for the text."""
        limits = self._payload.limits
        if self._payload.clock() > self._payload.deadline - limits.seconds / 2:
            raise Stop(f"time: more than {limits.seconds / 2:g} seconds, the rest was left out")

    def read(self, name: str, limit: int) -> bytes:
        """Return the first `limit` bytes of a part, b"" if it is missing."""
        found = bytearray()
        for piece in self.pieces(name):
            found += piece
            if len(found) >= limit:
                break
        return bytes(found[:limit])

    def _stored(self, entry: _Entry) -> Iterator[bytes]:
        end = len(self._data) if entry.size is None else entry.start + entry.size
        for start in range(entry.start, min(end, len(self._data)), _STEP):
            yield bytes(self._data[start : min(start + _STEP, end)])

    def _inflated(self, name: str, entry: _Entry) -> Iterator[bytes]:
        unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
        position = entry.start
        try:
            while not unpacker.eof:
                packed = unpacker.unconsumed_tail
                if not packed:
                    packed = bytes(self._data[position : position + _STEP])
                    position += len(packed)
                if not packed:
                    self.problems.append(f"office: {name} is cut off")
                    return
                if piece := unpacker.decompress(packed, _MOST_UNPACKED):
                    yield piece
        except zlib.error as error:
            self.problems.append(f"office: {name} is broken: {error}")

    def _listed(self, data: bytes) -> dict[str, _Entry]:
        if data.count(_DIRECTORY_MAGIC) > _MOST_ENTRIES:
            self.problems.append(f"office: more than {_MOST_ENTRIES:,} entries, none was read")
            return {}
        try:
            with zipfile.ZipFile(BytesIO(data)) as file:
                infos = file.infolist()
                heads = ((info.filename, _entry(data, info.header_offset)) for info in infos)
                found = {name: entry for name, entry in heads if entry}
        except _BROKEN:
            found = {}
        if found:
            return found
        found = dict(_recovered(data))
        self.problems.append("office: the directory of the zip file is broken or cut off")
        return found


def _entry(data: bytes, offset: int) -> _Entry | None:
    """Return the entry whose local header is at an offset, None without one."""
    if not 0 <= offset <= len(data) - _HEAD.size:
        return None
    magic, _, flags, method, _, _, _, packed, _, name, extra = _HEAD.unpack_from(data, offset)
    if magic != ZIP_MAGIC:
        return None
    size = None if flags & _SIZES_FOLLOW and not packed else packed
    return _Entry(offset + _HEAD.size + name + extra, method, size, bool(flags & _ENCRYPTED))


def _recovered(data: bytes) -> Iterator[tuple[str, _Entry]]:
    """Yield the entries found by searching for local headers."""
    position = data.find(ZIP_MAGIC)
    for _ in range(_MOST_ENTRIES):
        if position < 0:
            return
        entry = _entry(data, position)
        if entry is None:
            return
        length = int.from_bytes(data[position + 26 : position + 28], "little")
        name = data[position + _HEAD.size : position + _HEAD.size + length]
        yield name.decode("utf-8", "replace"), entry
        position = data.find(ZIP_MAGIC, position + 4)


Attributes = Mapping[str, str]
"""Attribute values by local name."""

_DEEPEST = 2_000
_LONGEST_TOKEN = 4 * MIB
_LONGEST_FIELD = 10_000


class _DeclaredEntityError(Exception):
    """The XML declares entities, as only XML bombs do."""


class XmlHandler:
    """Receives the events of a part, in order; events without an override are ignored."""

    def start(self, name: str, attributes: Attributes) -> None:
        """Process the start of an element."""

    def end(self, name: str) -> None:
        """Process the end of an element."""

    def data(self, text: str) -> None:
        """Process character data."""


def read_xml(parts: Parts, name: str, handler: XmlHandler) -> None:
    """Parse a part with a handler; broken XML is a problem, and the content before it is kept."""
    parser, length = _parser(handler), 0
    try:
        for piece in parts.pieces(name):
            parser.Parse(piece, False)
            length += len(piece)
            if length - parser.CurrentByteIndex > _LONGEST_TOKEN:
                limit = _LONGEST_TOKEN // MIB
                parts.problems.append(f"office: {name} has a tag of more than {limit} MiB")
                return
        if name in parts:
            parser.Parse(b"", True)
    except expat.ExpatError as error:
        parts.problems.append(f"office: {name} is not well-formed XML: {error}")
    except _DeclaredEntityError:
        parts.problems.append(f"office: {name} declares entities, the rest was left out")
    except RecursionError:
        parts.problems.append(f"depth: {name} is nested deeper than {_DEEPEST} elements")
    except (LookupError, ValueError) as error:  # of encodings
        parts.problems.append(f"office: {name} cannot be decoded: {error}")


def _parser(handler: XmlHandler) -> expat.XMLParserType:
    parser = expat.ParserCreate()
    parser.buffer_text = True
    depth = 0
    start_of, end_of = handler.start, handler.end

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _DEEPEST:
            raise RecursionError
        if ":" in name:
            name = name.rpartition(":")[2]
        # `r:id` takes precedence over `id`
        if prefixed := [key for key in attributes if ":" in key]:
            attributes |= {key.rpartition(":")[2]: attributes[key] for key in prefixed}
        start_of(name, attributes)

    def end(name: str) -> None:
        nonlocal depth
        depth -= 1
        end_of(name.rpartition(":")[2] if ":" in name else name)

    parser.StartElementHandler = start
    parser.EndElementHandler = end
    parser.CharacterDataHandler = handler.data
    parser.EntityDeclHandler = _refuse_entities
    return parser


def _refuse_entities(*_: object) -> None:
    raise _DeclaredEntityError


class FieldReader(XmlHandler):
    """Collects the text of named elements; `found` has the first non-empty one of each name."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = frozenset(names)
        self.found: dict[str, str] = {}
        self._name = ""
        self._pieces: list[str] = []
        self._length = 0

    def start(self, name: str, attributes: Attributes) -> None:
        if name in self._names and name not in self.found:
            self._name, self._pieces, self._length = name, [], 0

    def end(self, name: str) -> None:
        if name == self._name:
            if text := "".join(self._pieces).strip():
                self.found[name] = text
            self._name = ""

    def data(self, text: str) -> None:
        if self._name and self._length < _LONGEST_FIELD:
            self._pieces.append(text)
            self._length += len(text)


_INITIAL_CREATOR = "initial-creator"  # of OpenDocument, where `creator` is the last editor


def office_metadata(parts: Parts, name: str) -> Metadata:
    """Return the file's metadata, read from the part `name`."""
    names = ("title", "creator", "description", "language", _INITIAL_CREATOR)
    reader = FieldReader(names)
    read_xml(parts, name, reader)
    found = reader.found
    return Metadata(
        title=found.get("title", ""),
        author=found.get(_INITIAL_CREATOR) or found.get("creator", ""),
        description=found.get("description", ""),
        language=found.get("language", ""),
    )


_MOST_RELATIONS = 50_000


@dataclass(slots=True)
class Relations:
    """The relations of a part: names of other parts, and addresses, both by id.

    `kinds` has the last path segment of each related part's type (`worksheet`).
    """

    parts: dict[str, str] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)

    def of_kind(self, *kinds: str) -> list[str]:
        """Return the names of the parts of these kinds, kind by kind."""
        return [self.parts[id] for kind in kinds for id in self.parts if self.kinds[id] == kind]


class _RelationReader(XmlHandler):
    def __init__(self, folder: str) -> None:
        self._folder = folder
        self.found = Relations()

    def start(self, name: str, attributes: Attributes) -> None:
        if name != "Relationship" or len(self.found.kinds) >= _MOST_RELATIONS:
            return
        id, target = attributes.get("Id", ""), attributes.get("Target", "")
        self.found.kinds[id] = attributes.get("Type", "").rpartition("/")[2]
        if attributes.get("TargetMode") == "External":
            self.found.addresses[id] = target
        else:
            self.found.parts[id] = normpath(join("/", self._folder, target)).lstrip("/")


def relations_of(parts: Parts, name: str) -> Relations:
    """Return the relations of a part; those of the whole file for ""."""
    reader = _RelationReader(dirname(name))
    read_xml(parts, join(dirname(name), "_rels", f"{basename(name)}.rels"), reader)
    return reader.found
