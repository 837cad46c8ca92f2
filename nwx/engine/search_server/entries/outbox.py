"""An outbox on a server."""

import random
import secrets
import threading
import time
from collections.abc import Collection, Mapping, Sequence

import msgspec

from nwx.engine.entries import IndexEntry
from nwx.engine.indices.crawl_queue import OutboxEntry, UpdateOutbox, UrlUpdate
from nwx.engine.indices.entry_store import OrderField
from nwx.engine.indices.queue_entries import without_pages
from nwx.engine.search_server.entries.store import ServerEntryStore

UPDATE_KIND, _SENDER = "update", "sender"
_SENDER_BYTES = 12
_RANDOM_BYTES = 6
_MOST_QUEUES = 10_000
_NUMBERS_A_MICROSECOND = 1_000


class ServerOutbox(UpdateOutbox):
    """The outbox in the index `<prefix>-queue`.

    Numbers grow with the time at which updates were added; updates added by several processes at
    the same moment may be in any order.
    """

    def __init__(self, store: ServerEntryStore) -> None:
        self._store = store
        self._numbers = GrowingNumbers()
        self._pending: dict[str, list[tuple[int, str]]] = {}

    def sender(self) -> str:
        def named(known: Mapping[str, IndexEntry | None]) -> dict[str, IndexEntry | None]:
            name = secrets.token_urlsafe(_SENDER_BYTES)
            new = {"id": _SENDER, "kind": _SENDER, "content": {"name": name}}
            return {} if known[_SENDER] else {_SENDER: new}

        self._store.update([_SENDER], named)
        return str(self._store.get([_SENDER])[_SENDER]["content"]["name"])

    def add(self, updates: Sequence[UrlUpdate], queue: str) -> None:
        numbers = self._numbers.take(len(updates))
        entries: list[IndexEntry] = [
            {
                "id": f"update {number:020} {secrets.token_hex(_RANDOM_BYTES)}",
                "kind": UPDATE_KIND,
                "number": number,
                "queue": queue,
                "content": {"update": _content(update)},
            }
            for number, update in zip(numbers, updates, strict=True)
        ]
        self._store.put(entries)

    def pending(self, queue: str, limit: int) -> list[OutboxEntry]:
        waiting = {"kind": UPDATE_KIND, "queue": queue}
        found = list(self._store.find(waiting, (OrderField("number"),), limit))
        # What others add meanwhile may have a lower number: only these are removed.
        self._pending[queue] = [(entry["number"], entry["id"]) for entry in found]
        return [OutboxEntry(entry["number"], _update(entry)) for entry in found]

    def delivered(self, queue: str, up_to: int) -> None:
        known = self._pending.get(queue, [])
        self._store.delete([id for number, id in known if number <= up_to])
        self._pending[queue] = [(number, id) for number, id in known if number > up_to]

    def forget_pages(self, urls: Collection[str]) -> int:
        """Delete data on purged pages from updates; return the number changed or removed."""

        def forgotten(known: Mapping[str, IndexEntry | None]) -> dict[str, IndexEntry | None]:
            changed: dict[str, IndexEntry | None] = {}
            for id, entry in known.items():  # one that was sent meanwhile is gone
                if entry and (kept := without_pages(_update(entry), urls)) != _update(entry):
                    content = {"content": {"update": _content(kept)}} if kept else {}
                    changed[id] = entry | content if kept else None
            return changed

        naming = self._store.find({"kind": UPDATE_KIND})
        ids = [one["id"] for one in naming if without_pages(_update(one), urls) != _update(one)]
        return len(self._store.update(ids, forgotten))

    def queues(self) -> dict[str, int]:
        counted = self._store.totals({"kind": UPDATE_KIND}, {"queue": _MOST_QUEUES}, "number")
        groups = sorted(counted.groups["queue"], key=lambda one: one.value)
        return {one.value: one.entries for one in groups}


def _content(update: UrlUpdate) -> str:
    return msgspec.json.encode(update).decode()


def _update(entry: IndexEntry) -> UrlUpdate:
    return msgspec.json.decode(entry["content"]["update"], type=UrlUpdate)


class GrowingNumbers:
    """Numbers that grow, in this process and, as far as clocks agree, over all of them."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._own = random.randrange(_NUMBERS_A_MICROSECOND)
        self._last = 0

    def take(self, count: int) -> range:
        """Reserve and return `count` new numbers."""
        step = _NUMBERS_A_MICROSECOND
        with self._guard:
            first = max(self._last + step, time.time_ns() // 1_000 * step + self._own)
            self._last = first + (count - 1) * step
            return range(first, first + count * step, step)
