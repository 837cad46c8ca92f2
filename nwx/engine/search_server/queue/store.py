"""The index of a queue: entries read with their versions, and written only over these."""

import random
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nwx.engine.entries import IndexEntry
from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.cluster.copies import refresh
from nwx.engine.search_server.pages import entries_by_id, pages, search_page
from nwx.engine.search_server.schema import Schema
from nwx.engine.search_server.server import Body, Server
from nwx.model import IndexName

_NUMBERS_A_MICROSECOND = 1_000


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry of the index, and the version of it that was read."""

    source: Mapping[str, Any]
    sequence: int
    term: int

    @classmethod
    def of_hit(cls, hit: Mapping[str, Any]) -> "StoredEntry":
        """Return the entry of a hit, or of an answer to a read."""
        return cls(hit["_source"], hit["_seq_no"], hit["_primary_term"])


class QueueStore:
    """The index of the queue, its outbox, and what is known of hosts, each a kind of entries."""

    def __init__(self, server: Server, schema: Schema) -> None:
        self.server = server
        self._schema = schema
        self._index = schema.name(IndexName.QUEUE)
        self._is_made = False

    def has_index(self) -> bool:
        """Return whether there is an index."""
        self._is_made = self._is_made or self._schema.is_made(IndexName.QUEUE)
        return self._is_made

    def make(self) -> None:
        """Make the index where there is none."""
        if not self.has_index():
            self._schema.create_lazily(IndexName.QUEUE)
            self._is_made = True

    def refresh(self) -> bool:
        """Make what was written visible to searches; return whether there is an index."""
        if self.has_index():
            refresh(self.server, self._index)
        return self._is_made

    def read(self, ids: Sequence[str]) -> dict[str, StoredEntry]:
        """Return the entries of these ids, as fresh as the last write."""
        found = entries_by_id(self.server, self._index, ids, "true")
        return {id: StoredEntry.of_hit(entry) for id, entry in found.items()}

    def write(
        self, entries: Mapping[str, IndexEntry], known: Mapping[str, StoredEntry]
    ) -> set[str]:
        """Write entries over those that are known, others anew; return the ids of all that failed.

        One fails where somebody else wrote it meanwhile.
        """
        actions = [self._action(id, entry, known.get(id)) for id, entry in entries.items()]
        outcomes = zip(entries, send(self.server, actions), strict=True)
        return {id for id, outcome in outcomes if outcome == "conflict"}

    def _action(self, id: str, entry: IndexEntry, known: StoredEntry | None) -> BulkAction:
        if known is None:
            return BulkAction(self._index, id, entry, "create")
        control = (("if_seq_no", known.sequence), ("if_primary_term", known.term))
        return BulkAction(self._index, id, entry, control=control)

    def delete(self, ids: Sequence[str]) -> None:
        """Delete entries."""
        send(self.server, (BulkAction(self._index, id, None, "delete") for id in ids))

    def search(self, body: Body) -> Body:
        """Return the answer to one search."""
        return search_page(self.server, self._index, body)

    def stream(self, filters: Sequence[Body], sort: list[Any]) -> Iterator[Body]:
        """Stream the hits of all entries that match, as fresh as the last write."""
        if self.refresh():
            body: Body = {
                "query": {"bool": {"filter": list(filters)}},
                "seq_no_primary_term": True,
            }
            for page in pages(self.server, self._index, body, sort):
                yield from page


class GrowingNumbers:
    """DateNumbers that grow, in this process and, as far as clocks agree, over all of them."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._own = random.randrange(_NUMBERS_A_MICROSECOND)
        self._last = 0

    def take(self, count: int) -> range:
        """Return so many new numbers."""
        step = _NUMBERS_A_MICROSECOND
        with self._guard:
            first = max(self._last + step, time.time_ns() // 1_000 * step + self._own)
            self._last = first + (count - 1) * step
            return range(first, first + count * step, step)


def term(field: str, value: object) -> Body:
    """Return a condition: a field has a value."""
    return {"term": {field: value}}
