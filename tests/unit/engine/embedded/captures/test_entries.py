"""Entries of look-ups: which places of captures are known, whatever number is asked for."""

import random
import sqlite3

import numpy as np
import pytest

from nwx.engine.embedded.captures.block_lookups import DIGESTS, PLACES
from nwx.engine.embedded.captures.entries import PACKED_ENTRIES, EntryWriter, known_places

_TABLE = "CREATE TABLE lookups (id INTEGER PRIMARY KEY, run, kind, key, rank, data)"
_STEP = 3


@pytest.mark.parametrize("number", [1, 7, 150, 1_000])
def test_known_places_are_those_of_any_run(number: int) -> None:
    db = sqlite3.connect(":memory:")
    db.execute(_TABLE)
    stored = np.arange(10, 10 + 3 * PACKED_ENTRIES * _STEP, _STEP, dtype=np.uint64)
    for run, kind, keys in (
        (1, PLACES, stored[::2]),
        (2, PLACES, stored[1::4]),
        (1, DIGESTS, stored),
    ):
        writer = EntryWriter(db, run, kind)
        writer.add(keys, np.zeros(len(keys), np.uint64))
        writer.close()
    known = {*stored[::2].tolist(), *stored[1::4].tolist()}
    source = random.Random(number)
    asked = source.sample(range(int(stored[-1]) + 20), number)
    found = known_places(db, [1, 2, 3], np.array(asked, np.uint64))
    assert found.tolist() == [key in known for key in asked]
