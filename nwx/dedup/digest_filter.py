"""A Bloom filter of payload digests: a line of JSON, then the bits, lowest of each byte first.

Each digest in normal form gives two numbers a and b, the halves of its BLAKE2b-128 (little-endian,
the second made odd); its bits are (a + i·b) mod 2^64 mod `bits` for i from 0 to `hashes` - 1.
"""

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from nwx.bulk.progress import batches
from nwx.bulk.whole_files import writing
from nwx.errors import FormatError

_FORMAT = "nwx digest filter 1"
_AT_ONCE = 20_000
_MOST_HASHES = 64
_MOST_HEAD_BYTES = 4096
_COPY_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class FilterHead:
    """The header of a filter; `bytes` is the total length of the records with its digests."""

    digests: int
    bytes: int
    bits: int
    hashes: int
    false_positive_rate: float
    format: str = _FORMAT

    @classmethod
    def sized(cls, digests: int, size: int, rate: float) -> Self:
        """Return the header of a filter for a number of digests and a false-positive rate."""
        wanted = max(1, digests) * -math.log(rate) / math.log(2) ** 2
        bits = 64 * math.ceil(wanted / 64)
        hashes = min(_MOST_HASHES, max(1, round(bits / max(1, digests) * math.log(2))))
        real = (1 - math.exp(-hashes * digests / bits)) ** hashes
        return cls(digests, size, bits, hashes, float(f"{real:.3g}"))


def write_filter(
    output: BinaryIO, head: FilterHead, digests: Iterable[bytes], folder: Path
) -> None:
    """Write a filter of digests; its bits are set in a temporary file in `folder`."""
    path = folder / "bits"
    with writing(path):
        bits = np.memmap(path, np.uint8, "w+", shape=(head.bits // 8,))
        for some in batches(digests, _AT_ONCE):
            places = _places(head, some).ravel()
            masks = np.left_shift(np.uint8(1), (places & np.uint64(7)).astype(np.uint8))
            np.bitwise_or.at(bits, (places >> np.uint64(3)).astype(np.int64), masks)
        bits.flush()
    output.write(json.dumps(asdict(head)).encode() + b"\n")
    for start in range(0, len(bits), _COPY_BYTES):
        output.write(bits[start : start + _COPY_BYTES].tobytes())


class DigestFilter:
    """A filter read from a file, mapped into memory.

    Raises FormatError if the file is not a filter, or incomplete.
    """

    def __init__(self, path: Path) -> None:
        with path.open("rb") as stream:
            line = stream.readline(_MOST_HEAD_BYTES)
        self.head = _head(line, path)
        if path.stat().st_size != len(line) + self.head.bits // 8:
            raise FormatError(f"{path} is an incomplete digest filter; copy it again")
        self._bits = np.memmap(path, np.uint8, "r", offset=len(line))

    def has(self, digests: Sequence[bytes]) -> NDArray[np.bool_]:
        """Return a mask of the digests in the filter, with some false positives."""
        places = _places(self.head, digests)
        found = self._bits[(places >> np.uint64(3)).astype(np.int64)]
        shifts = (places & np.uint64(7)).astype(np.uint8)
        return np.asarray(((found >> shifts) & 1).all(axis=1), np.bool_)

    def known(self, payloads: Iterable[tuple[bytes, int]]) -> Iterator[tuple[bytes, int]]:
        """Yield the payloads whose digests are in the filter, with some false positives."""
        for some in batches(payloads, _AT_ONCE):
            mask = self.has([digest for digest, _ in some]).tolist()
            yield from (one for one, has in zip(some, mask, strict=True) if has)


def is_filter(first: bytes) -> bool:
    """Return whether a file with this first line is a filter."""
    return first.startswith(b"{") and _FORMAT[:-1].encode() in first


def _places(head: FilterHead, digests: Sequence[bytes]) -> NDArray[np.uint64]:
    hashed = b"".join([blake2b(digest, digest_size=16).digest() for digest in digests])
    halves = np.frombuffer(hashed, "<u8").reshape(-1, 2).astype(np.uint64)
    steps = np.arange(head.hashes, dtype=np.uint64)
    sums = halves[:, :1] + steps * (halves[:, 1:] | np.uint64(1))
    places: NDArray[np.uint64] = sums % np.uint64(head.bits)
    return places


def _head(line: bytes, path: Path) -> FilterHead:
    try:
        found: dict[str, Any] = json.loads(line)
        head = FilterHead(**found)
        numbers = (head.digests, head.bytes, head.bits, head.hashes)
        good = (
            head.format == _FORMAT
            and all(type(one) is int and one >= 0 for one in numbers)
            and head.bits > 0 == head.bits % 8
            and 0 < head.hashes <= _MOST_HASHES
            and 0 <= head.false_positive_rate <= 1
        )
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError(f"{path} is not a digest filter: {error}") from error
    if not good:
        raise FormatError(f"{path} is not a digest filter of this version of nwx")
    return head
