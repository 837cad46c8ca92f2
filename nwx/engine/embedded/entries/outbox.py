"""An outbox in SQLite."""

import secrets
from collections.abc import Collection, Sequence

import msgspec

from nwx.engine.embedded.entries.own_database import OwnDatabase
from nwx.engine.indices.crawl_queue import OutboxEntry, UpdateOutbox, UrlUpdate
from nwx.engine.indices.queue_entries import without_pages

_SENDER_BYTES = 12


class EmbeddedOutbox(UpdateOutbox):
    """The outbox in the file `queue.db` of an archive."""

    def __init__(self, database: OwnDatabase) -> None:
        self._database = database

    def sender(self) -> str:
        with self._database.writing() as db:
            row = db.execute("SELECT name FROM sender").fetchone()
            if row is None:
                row = (secrets.token_urlsafe(_SENDER_BYTES),)
                db.execute("INSERT INTO sender VALUES (?)", row)
        return str(row[0])

    def add(self, updates: Sequence[UrlUpdate], queue: str) -> None:
        rows = [(queue, _content(update)) for update in updates]
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

    def forget_pages(self, urls: Collection[str]) -> int:
        """Delete data on purged pages from updates; return the number changed or removed."""
        with self._database.reading() as db:
            rows = db.execute("SELECT num, content FROM outbox").fetchall() if db else ()
        changed = []
        for num, content in rows:
            update = _update(content)
            if (kept := without_pages(update, urls)) != update:
                changed.append((num, kept))
        if changed:
            with self._database.writing() as db:
                gone = [(num,) for num, kept in changed if kept is None]
                db.executemany("DELETE FROM outbox WHERE num = ?", gone)
                texts = [(_content(kept), num) for num, kept in changed if kept is not None]
                db.executemany("UPDATE outbox SET content = ? WHERE num = ?", texts)
        return len(changed)

    def queues(self) -> dict[str, int]:
        with self._database.reading() as db:
            if db is None:
                return {}
            rows = db.execute("SELECT queue, count(*) FROM outbox GROUP BY queue ORDER BY queue")
            return dict(rows.fetchall())


def _content(update: UrlUpdate) -> str:
    return msgspec.json.encode(update).decode()


def _update(content: str) -> UrlUpdate:
    return msgspec.json.decode(content, type=UrlUpdate)
