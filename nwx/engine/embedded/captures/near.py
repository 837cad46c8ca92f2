"""The captures of some urlkeys that are nearest to a moment."""

import json
import sqlite3
from collections.abc import Sequence

from nwx.capture_values import capture_of_values
from nwx.engine.embedded.reader import SELECT_CAPTURES
from nwx.engine.spans import KeysAtTime, nearest_captures
from nwx.model import Capture

# A few of each urlkey by the index, however many captures it has.
_SIDE = (
    "SELECT num FROM cdx_lines WHERE urlkey = keys.value AND timestamp {0} :timestamp"
    " ORDER BY timestamp {1} LIMIT :most"
)
_NEAR = (
    f"{SELECT_CAPTURES} WHERE num IN (SELECT near.num FROM json_each(:urlkeys) AS keys"
    " JOIN captures AS near ON near.num IN ({})) "
)
_SIDES = tuple(_NEAR.format(_SIDE.format(*side)) for side in ((">=", "ASC"), ("<", "DESC")))
_HAS_KEY = "SELECT 1 FROM cdx_lines WHERE urlkey >= ? AND urlkey < ? LIMIT 1"


def near_captures(
    db: sqlite3.Connection, asked: Sequence[KeysAtTime], most: int
) -> list[list[Capture]]:
    """Return captures, as `Engine.captures_near` does."""
    return [nearest_captures(_sides(db, one, most), one.timestamp, most) for one in asked]


def _sides(db: sqlite3.Connection, asked: KeysAtTime, most: int) -> list[Capture]:
    values = {
        "urlkeys": json.dumps(asked.urlkeys),
        "timestamp": asked.timestamp,
        "most": most,
    }
    return [capture_of_values(row) for side in _SIDES for row in db.execute(side, values)]


def has_keys(db: sqlite3.Connection, starts: Sequence[str]) -> bool:
    """Tell whether urlkeys begin so, as `Engine.has_keys` does."""
    return any(
        db.execute(_HAS_KEY, (start, start[:-1] + chr(ord(start[-1]) + 1))).fetchone()
        for start in starts
    )
