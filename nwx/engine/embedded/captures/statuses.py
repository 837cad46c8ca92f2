"""The lowest status of the captures of URLs."""

import json
import sqlite3
from collections.abc import Sequence

_AT_ONCE = 1_000
_LOWEST = (
    "SELECT urlkey, min(coalesce(status_code, 0))"
    " FROM cdx_lines CROSS JOIN captures USING (num, urlkey, timestamp)"
    " WHERE urlkey IN (SELECT value FROM json_each(?)) GROUP BY urlkey"
)


def lowest_statuses(db: sqlite3.Connection, urlkeys: Sequence[str]) -> dict[str, int]:
    """Return the lowest status by urlkey, as `Engine.statuses` does."""
    found: dict[str, int] = {}
    for begin in range(0, len(urlkeys), _AT_ONCE):
        some = json.dumps(urlkeys[begin : begin + _AT_ONCE])
        found.update(db.execute(_LOWEST, (some,)).fetchall())
    return found
