"""An outbox in SQLite."""

import secrets
from collections.abc import Sequence

import msgspec

from nwx.engine.embedded.queue.database import QueueDatabase
from nwx.engine.queue.crawl_queue import OutboxEntry, UpdateOutbox, UrlUpdate

_SENDER_BYTES = 12


class EmbeddedOutbox(UpdateOutbox):
    """The outbox in the file `queue.db` of an archive."""

    def __init__(self, database: QueueDatabase) -> None:
        self._database = database

    def sender(self) -> str:
        with self._database.writing() as db:
            row = db.execute("SELECT name FROM sender").fetchone()
            if row is None:
                row = (secrets.token_urlsafe(_SENDER_BYTES),)
                db.execute("INSERT INTO sender VALUES (?)", row)
        return str(row[0])

    def add(self, updates: Sequence[UrlUpdate], queue: str) -> None:
        rows = [(queue, msgspec.json.encode(update).decode()) for update in updates]
        with self._database.writing() as db:
            db.executemany("INSERT INTO outbox (queue, content) VALUES (?, ?)", rows)

    def pending(self, queue: str, limit: int) -> list[OutboxEntry]:
        with self._database.reading() as db:
            if db is None:
                return []
            rows = db.execute(
                "SELECT num, content FROM outbox WHERE queue = ? ORDER BY num LIMIT ?",
                (queue, limit),
            ).fetchall()
        return [OutboxEntry(num, _update(content)) for num, content in rows]

    def delivered(self, queue: str, up_to: int) -> None:
        with self._database.writing() as db:
            db.execute("DELETE FROM outbox WHERE queue = ? AND num <= ?", (queue, up_to))

    def queues(self) -> dict[str, int]:
        with self._database.reading() as db:
            if db is None:
                return {}
            rows = db.execute("SELECT queue, count(*) FROM outbox GROUP BY queue ORDER BY queue")
            return dict(rows.fetchall())


def _update(content: str) -> UrlUpdate:
    return msgspec.json.decode(content, type=UrlUpdate)
