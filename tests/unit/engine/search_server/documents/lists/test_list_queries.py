"""Long lists are compared by a script, where that runs and takes less time."""

from typing import cast

import pytest

from nwx.engine.search_server import limits
from nwx.engine.search_server.documents.lists.list_queries import ListQueries
from nwx.engine.search_server.refusals import RefusedError
from nwx.engine.search_server.server import Body, Server
from nwx.errors import ErrorText


class CountingServer:
    """A server of so many documents, which may refuse scripts."""

    def __init__(self, documents: int, *, scripts: bool = True) -> None:
        self.documents = documents
        self.scripts = scripts
        self.asked = 0

    def request(self, method: str, path: str, body: Body, params: Body, **_: object) -> Body:
        """Answer as a search server does."""
        self.asked += 1
        if "script" in body["query"] and not self.scripts:
            types = frozenset({"illegal_argument_exception"})
            raise RefusedError(ErrorText("no scripts"), 400, types)
        return {"hits": {"total": {"value": self.documents}}, "_shards": {"total": 1}}


def kinds(server: CountingServer, *, among: int | None = None) -> list[str]:
    """Return what the queries of a short and a long list are made of."""
    lists = ListQueries(cast(Server, server), "documents")
    made = [lists.query(frozenset(range(size)), among) for size in (2, 10)]
    return [kind for one in made for kind in one]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LOOKED_UP", 5)


def test_long_lists_are_compared_by_a_script() -> None:
    assert kinds(CountingServer(500)) == ["terms", "script"]


def test_lists_are_looked_up_where_scripts_are_refused() -> None:
    server = CountingServer(500, scripts=False)
    lists = ListQueries(cast(Server, server), "documents")
    for _ in range(3):
        assert list(lists.query(frozenset(range(10)))) == ["terms"]
    assert server.asked == 1


def test_lists_are_looked_up_among_very_many_documents() -> None:
    assert kinds(CountingServer(100_000)) == ["terms", "terms"]
    assert kinds(CountingServer(100_000), among=500) == ["terms", "script"]
