"""Captures by their digest.

The index holds the end of a digest, 36 bits of it and more, and leaves
revisits out: 19 bytes a capture where one of whole digests takes 68, and a
quarter less time to write. What shares an end is compared when it is read.
"""

import sqlite3
from collections.abc import Iterator

from nwx.engine.embedded.reader import SELECT_CAPTURES, capture_of_row
from nwx.model import Capture

FIRST_CAPTURES = 20

_END = "substr({}, -9)"
_TIME = "CAST(timestamp AS INTEGER)"

INDEX = (
    "CREATE INDEX IF NOT EXISTS captures_by_digest"
    f" ON captures ({_END.format('digest')}, {_TIME}) WHERE record_type <> 'revisit'"
)

# Without the sign before `digest` SQLite puts the value into the other term too, where no
# index helps then.
_OF_ANY_URL = (
    f"{SELECT_CAPTURES} WHERE {_END.format('digest')} = {_END.format(':digest')}"
    " AND +digest = :digest AND record_type <> 'revisit'"
    f" ORDER BY {_TIME} DESC, name, source_file_offset, collection"
)
_OF_A_URL = (
    f"{SELECT_CAPTURES} WHERE urlkey = :urlkey AND +digest = :digest AND record_type <> 'revisit'"
    " ORDER BY timestamp DESC, name, source_file_offset, collection"
)


def first_captures(db: sqlite3.Connection, digest: str, urlkey: str) -> list[Capture]:
    """Return the first FIRST of `Engine.captures_by_digest`, which are all of most digests."""
    rows = db.execute(
        f"{_question(urlkey)} LIMIT {FIRST_CAPTURES}", {"digest": digest, "urlkey": urlkey}
    )
    return [capture_of_row(row) for row in rows]


def further_captures(db: sqlite3.Connection, digest: str, urlkey: str) -> Iterator[Capture]:
    """Stream those behind the first."""
    rows = db.execute(
        f"{_question(urlkey)} LIMIT -1 OFFSET {FIRST_CAPTURES}",
        {"digest": digest, "urlkey": urlkey},
    )
    return map(capture_of_row, rows)


def _question(urlkey: str) -> str:
    return _OF_A_URL if urlkey else _OF_ANY_URL
