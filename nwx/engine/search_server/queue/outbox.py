"""An outbox on a server."""

import secrets
from collections.abc import Collection, Sequence

import msgspec

from nwx.engine.entries import IndexEntry
from nwx.engine.queue.crawl_queue import OutboxEntry, UpdateOutbox, UrlUpdate
from nwx.engine.queue.entries import without_pages
from nwx.engine.search_server.queue.store import GrowingNumbers, QueueStore, StoredEntry, term
from nwx.engine.search_server.server import Body

UPDATE_KIND, _SENDER = "update", "sender"
_SENDER_BYTES = 12
_RANDOM_BYTES = 6
_MOST_QUEUES = 10_000


class ServerOutbox(UpdateOutbox):
    """The outbox in the index `<prefix>-queue`.

    DateNumbers grow with the time at which updates were added; of several
    processes that add at the same moment either may come first.
    """

    def __init__(self, store: QueueStore) -> None:
        self._store = store
        self._numbers = GrowingNumbers()
        self._pending: dict[str, list[tuple[int, str]]] = {}

    def sender(self) -> str:
        self._store.make()
        found = self._store.read([_SENDER])
        if not found:
            name = secrets.token_urlsafe(_SENDER_BYTES)
            entry = {"id": _SENDER, "kind": _SENDER, "content": {"name": name}}
            self._store.write({_SENDER: entry}, {})
            found = self._store.read([_SENDER])
        return str(found[_SENDER].source["content"]["name"])

    def add(self, updates: Sequence[UrlUpdate], queue: str) -> None:
        if not updates:
            return
        self._store.make()
        entries = {}
        for number, update in zip(self._numbers.take(len(updates)), updates, strict=True):
            id = f"update {number:020} {secrets.token_hex(_RANDOM_BYTES)}"
            content = _content(update)
            entries[id] = {
                "id": id,
                "kind": UPDATE_KIND,
                "number": number,
                "queue": queue,
                "content": {"update": content},
            }
        self._store.write(entries, {})

    def pending(self, queue: str, limit: int) -> list[OutboxEntry]:
        if not self._store.refresh():
            return []
        body: Body = {
            "query": {"bool": {"filter": [term("kind", UPDATE_KIND), term("queue", queue)]}},
            "sort": [{"number": "asc"}, {"id": "asc"}],
            "size": limit,
            "track_total_hits": False,
        }
        hits = [hit["_source"] for hit in self._store.search(body)["hits"]["hits"]]
        # What others add meanwhile may have a lower number: only these are removed.
        self._pending[queue] = [(hit["number"], hit["id"]) for hit in hits]
        return [OutboxEntry(hit["number"], _update(hit["content"]["update"])) for hit in hits]

    def delivered(self, queue: str, up_to: int) -> None:
        known = self._pending.get(queue, [])
        self._store.delete([id for number, id in known if number <= up_to])
        self._pending[queue] = [(number, id) for number, id in known if number > up_to]

    def forget_pages(self, urls: Collection[str]) -> int:
        """Forget what updates tell of purged pages; return how many were changed or removed."""
        changed: dict[str, IndexEntry] = {}
        known: dict[str, StoredEntry] = {}
        gone: list[str] = []
        for hit in self._store.stream([term("kind", UPDATE_KIND)], [{"id": "asc"}]):
            update = _update(hit["_source"]["content"]["update"])
            kept = without_pages(update, urls)
            if kept is None:
                gone.append(hit["_id"])
            elif kept != update:
                known[hit["_id"]] = StoredEntry.of_hit(hit)
                changed[hit["_id"]] = hit["_source"] | {"content": {"update": _content(kept)}}
        self._store.write(changed, known)  # one that was sent meanwhile is gone
        self._store.delete(gone)
        return len(changed) + len(gone)

    def queues(self) -> dict[str, int]:
        if not self._store.refresh():
            return {}
        by_queue = {"terms": {"field": "queue", "size": _MOST_QUEUES}}
        body: Body = {"query": term("kind", UPDATE_KIND), "size": 0, "aggs": {"queues": by_queue}}
        found = self._store.search(body)["aggregations"]["queues"]["buckets"]
        return {one["key"]: one["doc_count"] for one in sorted(found, key=lambda one: one["key"])}


def _content(update: UrlUpdate) -> str:
    return msgspec.json.encode(update).decode()


def _update(content: str) -> UrlUpdate:
    return msgspec.json.decode(content, type=UrlUpdate)
