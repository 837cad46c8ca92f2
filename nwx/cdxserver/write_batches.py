"""RocksDB write batches with the records of OutbackCDX: captures and aliases, as bytes.

A batch is its sequence number (8 bytes, little-endian), the number of its records (4) and the
records: a tag, then key and value, each after its length as a varint (RocksDB's `write_batch.cc`).
OutbackCDX stores captures in column family 0 and aliases, urlkey to urlkey, in 1. The key of a
capture is its urlkey and its timestamp as a number (8 bytes, big-endian), since index version 4
followed by NUL, file name, NUL and offset (8); the value is a version and fields (`Capture.java`).
"""

import struct
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import NamedTuple
from urllib.parse import quote

from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import CdxRow
from nwx.errors import FormatError
from nwx.values.digests import DigestForm, digest_of, spell

SEQUENCE_KEY = b"#ReplicationSequence"
"""The key of a follower's progress, which its own followers receive with the captures."""

BY_BATCH = "Nwx-Sequence"
"""The response header that shows that nwx numbers batches; OutbackCDX numbers records."""

USUAL_VERSION, PLACE_VERSION = 3, 4
"""Index versions: captures are identified by urlkey and time; additionally by file and offset."""

_HEAD = struct.Struct("<QI")
_NUMBER = struct.Struct(">Q")
_ALIASES = 1
_DELETION, _VALUE, _LOG_DATA, _NOOP = 0x00, 0x01, 0x03, 0x0D
_FAMILY_DELETION, _FAMILY_VALUE = 0x04, 0x05
_ALGORITHMS = {16: "md5", 20: "sha1", 28: "sha224", 32: "sha256", 48: "sha384", 64: "sha512"}
_UNKNOWN = (1 << 64) - 1
_SHOWN = "".join(map(chr, range(33, 127)))


class CaptureKey(NamedTuple):
    """The key of a capture: urlkey and time, since version 4 with offset and file name."""

    urlkey: str
    timestamp: str
    offset: str = ""
    filename: str = ""


class CaptureChange(NamedTuple):
    """A capture that was stored; deleted if it has no row."""

    key: CaptureKey
    row: CdxRow | None


class AliasChange(NamedTuple):
    """An alias that was stored; deleted if its target is ""."""

    alias: str
    target: str


BatchChange = CaptureChange | AliasChange


def batch_numbers(data: bytes) -> tuple[int, int]:
    """Return the sequence number of a batch and the number of its records."""
    if len(data) < _HEAD.size:
        raise FormatError(f"a write batch of {len(data)} bytes, too short for its header")
    number, count = _HEAD.unpack_from(data)
    return number, count


def read_batch(data: bytes) -> Iterator[BatchChange]:
    """Yield the captures and aliases of a batch; raises FormatError on anything unknown."""
    reader = _Reader(data, _HEAD.size)
    _, count = batch_numbers(data)
    number = 0
    while not reader.at_end():
        tag = reader.byte()
        if tag in (_LOG_DATA, _NOOP):
            _ = reader.piece() if tag == _LOG_DATA else b""
            continue
        number += 1
        family = reader.varint() if tag in (_FAMILY_DELETION, _FAMILY_VALUE) else 0
        if tag not in (_DELETION, _VALUE, _FAMILY_DELETION, _FAMILY_VALUE):
            raise FormatError(f"a write batch with a record of type {tag}, which is not known")
        key = reader.piece()
        value = reader.piece() if tag in (_VALUE, _FAMILY_VALUE) else None
        if family == _ALIASES:
            yield AliasChange(_text(key), _text(value or b""))
        elif family == 0 and key != SEQUENCE_KEY:
            capture = _key(key)
            yield CaptureChange(capture, None if value is None else _row(capture, value))
        # Other families are access rules and policies of OutbackCDX.
    if number != count:
        raise FormatError(f"a write batch with {number} records instead of the declared {count}")


def write_batch(number: int, records: Iterable[BatchChange], version: int) -> bytes:
    """Return a batch of records, encoded for an index version: 3 or 4."""
    parts = [_encoded(record, version) for record in records]
    return _HEAD.pack(number, len(parts)) + b"".join(parts)


class _Reader:
    def __init__(self, data: bytes, place: int = 0) -> None:
        self._data, self._place = data, place

    def at_end(self) -> bool:
        return self._place >= len(self._data)

    def byte(self) -> int:
        if self.at_end():
            raise FormatError("a write batch that is cut off")
        self._place += 1
        return self._data[self._place - 1]

    def varint(self) -> int:
        value = 0
        for shift in range(0, 70, 7):
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value & _UNKNOWN
        raise FormatError("a write batch with a number of more than 64 bits")

    def piece(self) -> bytes:
        size = self.varint()
        end = self._place + size
        if end > len(self._data):
            raise FormatError("a write batch that is cut off")
        found, self._place = self._data[self._place : end], end
        return found

    def text(self) -> str:
        return _text(self.piece())

    def number(self) -> str:
        value = self.varint()
        return NO_VALUE if value >> 63 else str(value)


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def _key(raw: bytes) -> CaptureKey:
    if len(raw) < 9:
        raise FormatError(f"the key of a capture has {len(raw)} bytes, which is too few")
    number = _NUMBER.unpack_from(raw, len(raw) - 8)[0]
    if raw[-9]:
        return CaptureKey(_text(raw[:-8]), f"{number:014}")
    cut = raw.rfind(b"\0", 0, len(raw) - 9)
    if cut < 9:
        raise FormatError("the key of a capture has no file name")
    time = _NUMBER.unpack_from(raw, cut - 8)[0]
    return CaptureKey(_text(raw[: cut - 8]), f"{time:014}", str(number), _text(raw[cut + 1 : -9]))


def _row(key: CaptureKey, value: bytes) -> CdxRow:
    reader = _Reader(value)
    version = reader.varint()
    if version > PLACE_VERSION:
        raise FormatError(
            f"captures of index version {version}; up to {PLACE_VERSION} can be followed"
        )
    url, status, mime, length = reader.text(), reader.number(), reader.text(), reader.number()
    digest = reader.text() if version == 0 else _digest(reader.piece())
    in_key = version == PLACE_VERSION
    filename, offset = (key.filename, key.offset) if in_key else (reader.text(), reader.number())
    redirect = reader.text()
    flags = reader.text() if version > 1 else NO_VALUE
    return CdxRow(
        key.urlkey,
        key.timestamp,
        *(one or NO_VALUE for one in (url, mime, NO_VALUE if status == "0" else status, digest)),
        *(one or NO_VALUE for one in (redirect, flags, length, offset, filename)),
    )


def _digest(raw: bytes) -> str:
    algorithm = _ALGORITHMS.get(len(raw))
    return digest_of(algorithm, raw) if algorithm else NO_VALUE


def _encoded(record: BatchChange, version: int) -> bytes:
    if isinstance(record, AliasChange):
        tag = _FAMILY_VALUE if record.target else _FAMILY_DELETION
        head = bytes((tag, _ALIASES)) + _sized(_bytes(record.alias))
        return head + (_sized(_bytes(record.target)) if record.target else b"")
    key = _encoded_key(record.key, version)
    if record.row is None:
        return bytes((_DELETION,)) + _sized(key)
    return bytes((_VALUE,)) + _sized(key) + _sized(_encoded_row(record.row, version))


def _encoded_key(key: CaptureKey, version: int) -> bytes:
    start = _bytes(key.urlkey) + _NUMBER.pack(int(key.timestamp))
    if version < PLACE_VERSION:
        return start
    return b"".join((start, b"\0", _bytes(key.filename), b"\0", _NUMBER.pack(int(key.offset))))


def _encoded_row(row: CdxRow, version: int) -> bytes:
    place = (_sized(_bytes(row.filename)), _number(row.offset))
    parts = (
        (_varint(version), _sized(_ascii(row.url)), _number(row.status, 0)),
        (_sized(_bytes(row.mime)), _number(row.length), _sized(_digest_bytes(row.digest))),
        place if version < PLACE_VERSION else (),
        (_sized(_ascii(row.redirect)), _sized(_bytes(row.robotflags))),
        # OutbackCDX's last three of 14 fields: length, file name and offset of the original.
        (_varint(_UNKNOWN), _sized(NO_VALUE.encode()), _varint(_UNKNOWN)),
    )
    return b"".join(chain.from_iterable(parts))


def _digest_bytes(digest: str) -> bytes:
    return b"" if digest == NO_VALUE else bytes.fromhex(spell(digest, DigestForm.BARE_HEX))


def _ascii(url: str) -> bytes:
    """Return a URL as ASCII, as OutbackCDX reads it, other characters percent-encoded."""
    return quote(url, _SHOWN, errors="surrogateescape").encode("ascii")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _sized(raw: bytes) -> bytes:
    return _varint(len(raw)) + raw


def _number(text: str, missing: int = _UNKNOWN) -> bytes:
    return _varint(missing if text == NO_VALUE else int(text))


def _varint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    found.append(value)
    return bytes(found)
