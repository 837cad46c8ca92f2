"""Texts in arrays: their bytes one behind another, and where each begins."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from nwx.bulk.arrays import Array


def packed_texts(texts: Sequence[str], name: str) -> dict[str, Array]:
    """Return texts as two arrays, `<name>_bytes` and `<name>_starts`."""
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    starts = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=starts[1:])
    return {
        f"{name}_bytes": np.frombuffer(b"".join(encoded), np.uint8),
        f"{name}_starts": starts,
    }


class Texts:
    """Texts of arrays that `packed_texts` made, by their numbers."""

    def __init__(self, arrays: Mapping[str, Array], name: str) -> None:
        self._bytes = arrays[f"{name}_bytes"].data
        self._starts = arrays[f"{name}_starts"]

    def __len__(self) -> int:
        return len(self._starts) - 1

    def __getitem__(self, number: int) -> str:
        return self._encoded(number).decode("utf-8", "surrogatepass")

    def _encoded(self, number: int) -> bytes:
        return bytes(self._bytes[self._starts[number] : self._starts[number + 1]])

    def take(self, numbers: Iterable[int]) -> list[str]:
        """Return the texts of several numbers."""
        return [self[number] for number in numbers]

    def all(self) -> list[str]:
        """Return all texts."""
        whole, starts = bytes(self._bytes), self._starts.tolist()
        return [
            whole[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(starts)
        ]

    def place(self, text: str) -> int:
        """Return the number of the first text that is not before this one; texts are in order.

        The order is that of their bytes.
        """
        wanted = text.encode("utf-8", "surrogatepass")
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self._encoded(middle) < wanted:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, text: str) -> int | None:
        """Return the number of a text, None where it is not there; texts are in order."""
        place = self.place(text)
        return place if place < len(self) and self[place] == text else None
