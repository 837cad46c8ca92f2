"""What chooses how a server finds the documents of a list."""

import threading
from collections.abc import Collection
from functools import lru_cache

import msgspec
from cachetools import TTLCache

from nwx.engine.search_server import limits
from nwx.engine.search_server.documents.compile import EVERYTHING, Query
from nwx.engine.search_server.documents.lists.packed_numbers import packed_query
from nwx.engine.search_server.pages import count_hits
from nwx.engine.search_server.refusals import RefusedError
from nwx.engine.search_server.schema import NUMBER
from nwx.engine.search_server.server import Server, to_json

_COUNTED_SECONDS = 60.0


def terms_query(numbers: Collection[int]) -> Query:
    """Return the query of the documents of a list, each of which is looked up."""
    if isinstance(numbers, frozenset) and len(numbers) > limits.SHORT_LIST:
        return {"terms": {NUMBER: encoded(numbers)}}
    return {"terms": {NUMBER: list(numbers)}}


@lru_cache(maxsize=8)
def encoded(numbers: frozenset[int]) -> msgspec.Raw:
    """Return a long list as JSON, which is kept for the next question."""
    return msgspec.Raw(to_json(sorted(numbers)))


class ListQueries:
    """What gives the queries of lists of documents; threads may share it.

    Of long lists it is a script that documents are compared with, where the
    server runs scripts and has not so many documents that it takes longer.
    """

    def __init__(self, server: Server, documents: str) -> None:
        self._server = server
        self._documents = documents
        self._guard = threading.Lock()
        self._runs_scripts: bool | None = None
        self._count: TTLCache[str, int] = TTLCache(1, _COUNTED_SECONDS)

    def query(self, numbers: Collection[int], among: int | None = None) -> Query:
        """Return the query of a list; `among` is how many documents are compared, if known."""
        if self.is_compared(numbers, among):
            return packed_query(frozenset(numbers))
        return terms_query(numbers)

    def is_compared(self, numbers: Collection[int], among: int | None = None) -> bool:
        """Tell whether documents are compared with a list by a script."""
        if len(numbers) <= limits.LOOKED_UP or not self._scripts_run():
            return False
        count = self._documents_count() if among is None else among
        return count <= limits.COMPARED_FOR_EACH * len(numbers)

    def _documents_count(self) -> int:
        with self._guard:
            found = self._count.get(self._documents)
        if found is None:
            found = count_hits(self._server, self._documents, EVERYTHING)
            with self._guard:
                self._count[self._documents] = found
        return found

    def _scripts_run(self) -> bool:
        """Tell whether the server runs the script: it may be set up to run none."""
        if self._runs_scripts is None:
            try:
                count_hits(self._server, self._documents, packed_query(frozenset()), 0)
                self._runs_scripts = True
            except RefusedError:
                self._runs_scripts = False
        return self._runs_scripts
