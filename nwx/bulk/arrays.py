"""Named arrays in one file, read by mapping it into memory."""

import json
import mmap
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from nwx.errors import BlobError, ErrorText

Array = npt.NDArray[Any]

_MAGIC = b"nwx arrays 1\n"
_ALIGNED = 64


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays of one dimension to a new file, which is safe on disk afterwards."""
    layout: list[tuple[str, str, int, int]] = []
    offset = 0
    for name, array in arrays.items():
        layout.append((name, array.dtype.str, len(array), offset))
        offset += -(-array.nbytes // _ALIGNED) * _ALIGNED
    head = _MAGIC + json.dumps(layout).encode() + b"\n"
    head += b" " * (-(len(head)) % _ALIGNED)
    with path.open("wb") as file:
        file.write(f"{len(head):<{_ALIGNED - 1}}\n".encode() + head)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).data)
            file.write(bytes(-array.nbytes % _ALIGNED))
        file.flush()
        os.fsync(file.fileno())


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of a file by name; they cannot be changed.

    Raises BlobError on a file that is missing or damaged.
    """
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        size = int(mapped[:_ALIGNED])
        head = mapped[_ALIGNED : _ALIGNED + size]
        if not head.startswith(_MAGIC):
            raise ValueError("it does not begin as it should")
        layout = json.loads(head[len(_MAGIC) :])
        return {
            name: np.frombuffer(mapped, np.dtype(kind), count, _ALIGNED + size + offset)
            for name, kind, count, offset in layout
        }
    except (OSError, ValueError, TypeError) as error:
        raise BlobError(
            ErrorText("%(path)s cannot be read (%(reason)s)", path=path, reason=error)
        ) from error


def narrow(array: Array) -> Array:
    """Return whole numbers, 0 and above, in the smallest type that holds them."""
    highest = int(array.max()) if len(array) else 0
    for kind in (np.uint8, np.uint16, np.uint32):
        if highest <= np.iinfo(kind).max:
            return array.astype(kind, copy=False)
    return array.astype(np.int64, copy=False)
