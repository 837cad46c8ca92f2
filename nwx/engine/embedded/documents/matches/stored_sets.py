"""Sets of the most frequent words, read while an archive is written and kept with its columns."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from nwx.engine.embedded.documents.matches.word_sets import Bits

LEAST_DOCUMENTS = 100_000
"""In archives of fewer documents the set of a word is read in a moment."""

MOST_SETS = 400

FREQUENT = 0.08
"""Words that so large a part of the documents has: reading the sets of others takes less time."""

_NAMES, _BITS = "words.names", "words.bits"
MOMENT = "words.moment"
"""The array that is there where sets are."""


@dataclass(frozen=True, slots=True)
class StoredSets:
    """Sets of words as they were at a moment.

    Then `size` was the first number that had no document, and `seq` the last
    row of documents in the database.
    """

    sets: Mapping[str, Bits]
    size: int
    seq: int

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return what to write down."""
        names = np.frombuffer(json.dumps(list(self.sets)).encode(), np.uint8)
        bits = np.concatenate([np.zeros(0, dtype=np.uint64), *self.sets.values()])
        moment = np.array([self.size, self.seq], dtype=np.int64)
        return {_NAMES: names, _BITS: bits, MOMENT: moment}


def stored_sets(arrays: Mapping[str, npt.NDArray[Any]]) -> StoredSets | None:
    """Return the sets that were written down, None where none were."""
    if MOMENT not in arrays:
        return None
    names = json.loads(arrays[_NAMES].tobytes())
    size, seq = arrays[MOMENT].tolist()
    every = np.split(arrays[_BITS], len(names)) if names else []
    return StoredSets(dict(zip(names, every, strict=True)), size, seq)
