"""Captures by their digest; what shares the end of one is compared when it is read."""

import sqlite3
from collections.abc import Iterator

from nwx.capture_values import capture_of_values
from nwx.engine.embedded.captures.lookup_tables import ENDING_OF_DIGEST
from nwx.engine.embedded.reader import SELECT_IN_ORDER, SELECTED
from nwx.model import Capture

FIRST_CAPTURES = 20

_OF_ANY_URL = (
    f"{SELECTED} FROM digests CROSS JOIN captures USING (num)"
    " CROSS JOIN sources ON sources.code = source"
    f" WHERE ending = {ENDING_OF_DIGEST} AND digest = :digest"
    " ORDER BY time DESC, name, source_file_offset, collection"
)
_OF_A_URL = (
    f"{SELECT_IN_ORDER} WHERE urlkey = :urlkey AND digest = :digest AND record_type <> 'revisit'"
    " ORDER BY timestamp DESC, name, source_file_offset, collection"
)


def first_captures(db: sqlite3.Connection, digest: str, urlkey: str) -> list[Capture]:
    """Return the first FIRST of `Engine.captures_by_digest`, which are all of most digests."""
    rows = db.execute(
        f"{_question(urlkey)} LIMIT {FIRST_CAPTURES}", {"digest": digest, "urlkey": urlkey}
    )
    return [capture_of_values(row) for row in rows]


def further_captures(db: sqlite3.Connection, digest: str, urlkey: str) -> Iterator[Capture]:
    """Stream those behind the first."""
    rows = db.execute(
        f"{_question(urlkey)} LIMIT -1 OFFSET {FIRST_CAPTURES}",
        {"digest": digest, "urlkey": urlkey},
    )
    return map(capture_of_values, rows)


def _question(urlkey: str) -> str:
    return _OF_A_URL if urlkey else _OF_ANY_URL
