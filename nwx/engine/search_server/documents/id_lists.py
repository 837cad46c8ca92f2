"""Lists of documents that meet a condition, kept until another list would come."""

import threading
from dataclasses import dataclass

from cachetools import LRUCache

from nwx.engine.search_server import limits
from nwx.engine.search_server.cluster.partial_answers import partial_answers
from nwx.engine.search_server.documents.compile import Query
from nwx.engine.search_server.pages import numbers, search_page
from nwx.engine.search_server.server import Body, Server, to_json

_MOST_LISTS = 16
_Key = tuple[str, bytes]
_CHANGES: Body = {name: {name: {"field": "_seq_no"}} for name in ("sum", "max")}


@dataclass(frozen=True, slots=True)
class IndexState:
    """What is another when other entries meet a query, or the same ones changed.

    A server numbers its changes, and an entry has the number of its last one.
    """

    total: int
    changes: tuple[float, float]


class RememberedNumbers:
    """The numbers of the documents that meet a query in an index; threads may share it.

    To ask whether they are still the same takes a fraction of the time
    that sending them does.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._guard = threading.Lock()
        self._lists: LRUCache[_Key, tuple[IndexState, frozenset[int]]] = LRUCache(_MOST_LISTS)

    def numbers(self, index: str, query: Query) -> frozenset[int] | None:
        """Return the numbers, None of more than limits.MAX_IDS."""
        state = index_state(self._server, index, query)
        if state.total > limits.MAX_IDS:
            return None
        key = index, to_json(query)
        with self._guard:
            known = self._lists.get(key)
        if known and known[0] == state:
            return known[1]
        listed = numbers(self._server, index, query)
        if listed is None:
            return None
        found = frozenset(listed)
        if partial_answers() is None:  # else the list may lack some
            with self._guard:
                self._lists[key] = state, found
        return found


def index_state(server: Server, index: str, query: Query) -> IndexState:
    """Return the state of the entries of an index that meet a query."""
    body = {"query": query, "size": 0, "track_total_hits": True, "aggs": _CHANGES}
    answer = search_page(server, index, body)
    found = answer["aggregations"]
    changes = found["sum"]["value"] or 0.0, found["max"]["value"] or 0.0
    return IndexState(answer["hits"]["total"]["value"], changes)
