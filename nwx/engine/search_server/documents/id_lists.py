"""Lists of documents that meet a condition: caching them, and sending them to a search server."""

import threading
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import msgspec
import numpy as np
import numpy.typing as npt
from cachetools import LRUCache, TTLCache

from nwx.engine.search_server import schema
from nwx.engine.search_server.documents.compile import EVERYTHING, Query
from nwx.engine.search_server.pages import (
    Search,
    count_hits,
    numbers,
    partial_answers,
    search_each,
    search_page,
)
from nwx.engine.search_server.refusals import RefusedError
from nwx.engine.search_server.schema import NUMBER
from nwx.engine.search_server.server import Body, Server, to_json

_Integers = npt.NDArray[np.uint64]

# DateNumbers have 63 bits: the first 13 select a bucket, the other 50 are written as ten digits.
_REST_BITS = 50
_BUCKETS = 1 << 13
_DIGIT_BITS = 5
_PLACE_DIGITS, _REST_DIGITS = 4, 10
_ZERO = ord("0")  # the 32 characters from this one need no escapes in JSON

SCRIPT = f"""
if (doc['{NUMBER}'].size() == 0) {{ return false; }}
long number = doc['{NUMBER}'].value;
String begins = params.begins;
String rests = params.rests;
int bucket = 4 * (int) (number >>> 50);
int begin = 0;
int end = 0;
for (int i = bucket; i < bucket + 4; ++i) {{
  begin = (begin << 5) + begins.charAt(i) - 48;
  end = (end << 5) + begins.charAt(i + 4) - 48;
}}
for (int at = begin * 10; at < end * 10; at += 10) {{
  int i = 0;
  while (i < 10 && rests.charAt(at + i) - 48 == (int) ((number >>> (45 - 5 * i)) & 31L)) {{ ++i; }}
  if (i == 10) {{ return true; }}
}}
return false;
"""
"""The script that returns whether the number of a document is in a list of `pack_numbers`."""


def packed_query(numbers: frozenset[int]) -> Query:
    """Return the script query of the documents with up to schema.MAX_IDS numbers."""
    script = {"lang": "painless", "source": SCRIPT, "params": pack_numbers(numbers)}
    return {"script": {"script": script}}


@lru_cache(maxsize=8)
def pack_numbers(numbers: frozenset[int]) -> msgspec.Raw:
    """Return the parameters of SCRIPT for a list, as JSON.

    `rests` has the last 50 bits of each number, in order, `begins` the index in it of the first
    number of each bucket and the end of the last bucket.
    """
    ordered = np.fromiter(numbers, np.uint64, len(numbers))
    ordered.sort()
    buckets = ordered >> np.uint64(_REST_BITS)
    begins = np.searchsorted(buckets, np.arange(_BUCKETS + 1, dtype=np.uint64))
    packed = {
        "begins": _digits(begins.astype(np.uint64), _PLACE_DIGITS),
        "rests": _digits(ordered, _REST_DIGITS),
    }
    return msgspec.Raw(to_json(packed))


def _digits(values: _Integers, count: int) -> str:
    """Return the last `count` base-32 digits of each number, most significant first."""
    shifts = np.arange(count - 1, -1, -1, dtype=np.uint64) * np.uint64(_DIGIT_BITS)
    digits = (values[:, None] >> shifts) & np.uint64((1 << _DIGIT_BITS) - 1)
    return (digits + np.uint64(_ZERO)).astype(np.uint8).tobytes().decode("ascii")


_COUNTED_SECONDS = 60.0


def terms_query(numbers: Collection[int]) -> Query:
    """Return the terms query of a list of documents, which looks up each number."""
    if isinstance(numbers, frozenset) and len(numbers) > schema.SHORT_LIST:
        return {"terms": {NUMBER: encoded(numbers)}}
    return {"terms": {NUMBER: list(numbers)}}


@lru_cache(maxsize=8)
def encoded(numbers: frozenset[int]) -> msgspec.Raw:
    """Return a long list as JSON, cached for the next question."""
    return msgspec.Raw(to_json(sorted(numbers)))


class ListQueries:
    """Queries for lists of documents; threads may share it.

    The query of a long list is a script that compares documents with the list, if the server runs
    scripts and there are not too many documents for that to be faster.
    """

    def __init__(self, server: Server, documents: str) -> None:
        self._server = server
        self._documents = documents
        self._guard = threading.Lock()
        self._runs_scripts: bool | None = None
        self._count: TTLCache[str, int] = TTLCache(1, _COUNTED_SECONDS)

    def query(self, numbers: Collection[int], among: int | None = None) -> Query:
        """Return the query of a list; `among` is the number of documents to compare, if known."""
        if self.is_compared(numbers, among):
            return packed_query(frozenset(numbers))
        return terms_query(numbers)

    def is_compared(self, numbers: Collection[int], among: int | None = None) -> bool:
        """Return whether a script is used to compare documents with a list."""
        if len(numbers) <= schema.LOOKED_UP or not self._scripts_run():
            return False
        count = self._documents_count() if among is None else among
        return count <= schema.COMPARED_FOR_EACH * len(numbers)

    def _documents_count(self) -> int:
        with self._guard:
            found = self._count.get(self._documents)
        if found is None:
            found = count_hits(self._server, self._documents, EVERYTHING)
            with self._guard:
                self._count[self._documents] = found
        return found

    def _scripts_run(self) -> bool:
        """Return whether the server runs the script; servers may disable scripts."""
        if self._runs_scripts is None:
            try:
                count_hits(self._server, self._documents, packed_query(frozenset()), 0)
                self._runs_scripts = True
            except RefusedError:
                self._runs_scripts = False
        return self._runs_scripts


_MOST_LISTS = 16
_Key = tuple[str, bytes]
_CHANGES: Body = {name: {name: {"field": "_seq_no"}} for name in ("sum", "max")}


@dataclass(frozen=True, slots=True)
class IndexState:
    """A state that changes when other entries match a query, or matching entries change.

    A server numbers its changes, and each entry has the number of its last change.
    """

    total: int
    changes: tuple[float, float]


@dataclass(frozen=True, slots=True)
class AskedList:
    """The documents that currently match a query in an index.

    `kept` are their numbers if they were read before and are unchanged. A list is `settled` if it
    was the same at the last request, and thus worth reading and caching.
    """

    index: str
    query: Query
    state: IndexState
    kept: frozenset[int] | None
    settled: bool


@dataclass(frozen=True, slots=True)
class KeptList:
    """The documents that matched a query in an index when they were read, and its state then."""

    index: str
    query: Query
    state: IndexState
    numbers: frozenset[int]

    def search(self) -> Search:
        """Return the search whose answer shows whether the numbers are unchanged."""
        return _state_search(self.index, self.query)


class RememberedNumbers:
    """Cached numbers of the documents that match a query in an index; threads may share it.

    Checking that they are unchanged takes a fraction of the time of sending them.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._guard = threading.Lock()
        self._lists: LRUCache[_Key, tuple[IndexState, frozenset[int]]] = LRUCache(_MOST_LISTS)
        self._last_asked: LRUCache[_Key, IndexState] = LRUCache(_MOST_LISTS)

    def longest(self, lists: Sequence[tuple[str, Query]]) -> int | None:
        """Return the length of the longest list, None unless all are cached."""
        with self._guard:
            known = [self._lists.get(_key(*one)) for one in lists]
        lengths = [len(one[1]) for one in known if one is not None]
        return max(lengths, default=0) if len(lengths) == len(lists) else None

    def kept(self, lists: Sequence[tuple[str, Query]]) -> list[KeptList] | None:
        """Return lists as of the last request, None unless all are cached."""
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
        """Return whether lists have changed, according to the answers to their searches.

        A changed list is requested again before its next use.
        """
        states = [_state(answer) for answer in answers]
        with self._guard:
            for one, state in zip(kept, states, strict=True):
                self._last_asked[_key(one.index, one.query)] = state
        return any(one.state != state for one, state in zip(kept, states, strict=True))

    def ask(
        self, lists: Sequence[tuple[str, Query]], beside: Sequence[Search] = ()
    ) -> tuple[list[AskedList], list[Body]]:
        """Return the states of lists and the answers to other searches, in one request."""
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
        """Return the numbers of a list, None if more than schema.MAX_IDS."""
        if one.kept is not None or one.state.total > schema.MAX_IDS:
            return one.kept
        listed = numbers(self._server, one.index, one.query)
        if listed is None:
            return None
        found = frozenset(listed)
        if partial_answers() is None:  # else the list may be incomplete
            with self._guard:
                self._lists[_key(one.index, one.query)] = one.state, found
        return found


def index_state(server: Server, index: str, query: Query) -> IndexState:
    """Return the state of the entries of an index that match a query."""
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
