"""Lists of documents that meet a condition, kept until another list would come."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from cachetools import LRUCache

from nwx.engine.search_server import limits
from nwx.engine.search_server.cluster.partial_answers import partial_answers
from nwx.engine.search_server.documents.compile import Query
from nwx.engine.search_server.pages import Search, numbers, search_each, search_page
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


@dataclass(frozen=True, slots=True)
class AskedList:
    """The documents that meet a query in an index, as they are now.

    `kept` are their numbers where these were read before and are the same
    still. A list is `settled` where it was the same when it was last asked
    for: it is worth to be read, and kept.
    """

    index: str
    query: Query
    state: IndexState
    kept: frozenset[int] | None
    settled: bool


@dataclass(frozen=True, slots=True)
class KeptList:
    """The documents that met a query in an index when they were read, and the state since then."""

    index: str
    query: Query
    state: IndexState
    numbers: frozenset[int]

    def search(self) -> Search:
        """Return the search that tells whether they are still the same."""
        return _state_search(self.index, self.query)


class RememberedNumbers:
    """The numbers of the documents that meet a query in an index; threads may share it.

    To ask whether they are still the same takes a fraction of the time
    that sending them does.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._guard = threading.Lock()
        self._lists: LRUCache[_Key, tuple[IndexState, frozenset[int]]] = LRUCache(_MOST_LISTS)
        self._last_asked: LRUCache[_Key, IndexState] = LRUCache(_MOST_LISTS)

    def longest(self, lists: Sequence[tuple[str, Query]]) -> int | None:
        """Return the length of the longest list that is kept, None where one is not."""
        with self._guard:
            known = [self._lists.get(_key(*one)) for one in lists]
        lengths = [len(one[1]) for one in known if one is not None]
        return max(lengths, default=0) if len(lengths) == len(lists) else None

    def kept(self, lists: Sequence[tuple[str, Query]]) -> list[KeptList] | None:
        """Return lists as they were when they were last asked for, None where one is not kept."""
        found = []
        with self._guard:
            for index, query in lists:
                key = _key(index, query)
                known = self._lists.get(key)
                if known is None or self._last_asked.get(key) != known[0]:
                    return None
                found.append(KeptList(index, query, *known))
        return found

    def changed(self, kept: Sequence[KeptList], answers: Sequence[Body]) -> bool:
        """Tell by the answers to their searches whether lists are others now.

        Such a list is asked for before it is used again.
        """
        states = [_state(answer) for answer in answers]
        with self._guard:
            for one, state in zip(kept, states, strict=True):
                self._last_asked[_key(one.index, one.query)] = state
        return any(one.state != state for one, state in zip(kept, states, strict=True))

    def ask(
        self, lists: Sequence[tuple[str, Query]], beside: Sequence[Search] = ()
    ) -> tuple[list[AskedList], list[Body]]:
        """Return what is known of lists, and the answers of other searches, by one request."""
        states = [_state_search(*one) for one in lists]
        answers = search_each(self._server, [*states, *beside])
        asked = [
            self._asked(index, query, _state(answer))
            for (index, query), answer in zip(lists, answers, strict=False)
        ]
        return asked, answers[len(lists) :]

    def _asked(self, index: str, query: Query, state: IndexState) -> AskedList:
        key = _key(index, query)
        with self._guard:
            known, last = self._lists.get(key), self._last_asked.get(key)
            self._last_asked[key] = state
        kept = known[1] if known and known[0] == state else None
        return AskedList(index, query, state, kept, settled=last == state)

    def read(self, one: AskedList) -> frozenset[int] | None:
        """Return the numbers of a list, None of more than limits.MAX_IDS."""
        if one.kept is not None or one.state.total > limits.MAX_IDS:
            return one.kept
        listed = numbers(self._server, one.index, one.query)
        if listed is None:
            return None
        found = frozenset(listed)
        if partial_answers() is None:  # else the list may lack some
            with self._guard:
                self._lists[_key(one.index, one.query)] = one.state, found
        return found


def index_state(server: Server, index: str, query: Query) -> IndexState:
    """Return the state of the entries of an index that meet a query."""
    search = _state_search(index, query)
    return _state(search_page(server, search.index, search.body))


def _state_search(index: str, query: Query) -> Search:
    return Search(index, {"query": query, "size": 0, "track_total_hits": True, "aggs": _CHANGES})


def _state(answer: Body) -> IndexState:
    found = answer["aggregations"]
    changes = found["sum"]["value"] or 0.0, found["max"]["value"] or 0.0
    return IndexState(answer["hits"]["total"]["value"], changes)


def _key(index: str, query: Query) -> _Key:
    return index, to_json(query)
