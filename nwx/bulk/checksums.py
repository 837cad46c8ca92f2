"""Checksums of stored files and JSON objects, by which damage is found."""

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_SEAL = "crc32"
_STRETCH = 1 << 20


def file_checksum(path: Path, end: int | None = None) -> int:
    """Return the CRC-32 of a file, up to the position `end` if given."""
    checksum = 0
    with path.open("rb") as file:
        left = path.stat().st_size if end is None else end
        while left > 0 and (block := file.read(min(left, _STRETCH))):
            checksum = zlib.crc32(block, checksum)
            left -= len(block)
    return checksum


def sealed_json(entry: Mapping[str, Any], indent: int | None = None) -> str:
    """Return an object as JSON that holds its own checksum."""
    text = json.dumps(entry)
    return json.dumps({**entry, _SEAL: zlib.crc32(text.encode())}, indent=indent)


def unsealed_json(text: str) -> dict[str, Any]:
    """Return the object of a JSON text without its checksum, which those of older versions lack.

    Raises ValueError if it was changed since, or is no JSON object.
    """
    entry = json.loads(text)
    if not isinstance(entry, dict):
        raise ValueError("it is no JSON object")
    seal = entry.pop(_SEAL, None)
    if seal is not None and seal != zlib.crc32(json.dumps(entry).encode()):
        raise ValueError("its checksum differs")
    return entry
