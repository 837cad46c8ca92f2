"""Kept lists: trusted while they were the same when last asked for."""

from typing import cast

from nwx.engine.search_server.documents.lists.id_lists import RememberedNumbers
from nwx.engine.search_server.server import Body, Server

LIST = ("dates", {"match_all": {}})


class ListServer:
    """A server that has the numbers of one list."""

    def __init__(self) -> None:
        self.numbers = [1, 2]
        self.changes = 1.0

    def request(self, method: str, path: str, body: object, *_: object, **__: object) -> Body:
        """Answer as a search server does."""
        buckets = [{"key": number, "doc_count": 1} for number in self.numbers]
        aggs: Body = {"numbers": {"buckets": buckets}}
        aggs |= {name: {"value": self.changes} for name in ("sum", "max")}
        answer = {"hits": {"total": {"value": len(self.numbers)}}, "aggregations": aggs}
        return {"responses": [answer]} if path.endswith("_msearch") else answer

    def states(self) -> list[Body]:
        """Return the answers to the searches of kept lists."""
        return [self.request("POST", "/dates/_search", {})]


def test_a_list_is_kept_until_it_changed() -> None:
    server = ListServer()
    remembered = RememberedNumbers(cast(Server, server))
    assert remembered.kept([LIST]) is None
    (asked,), _ = remembered.ask([LIST])
    assert remembered.read(asked) == {1, 2}
    kept = remembered.kept([LIST])
    assert kept is not None
    assert [one.numbers for one in kept] == [frozenset({1, 2})]
    assert not remembered.changed(kept, server.states())
    server.numbers, server.changes = [1, 2, 3], 2.0
    assert remembered.changed(kept, server.states())
    assert remembered.kept([LIST]) is None
    (asked,), _ = remembered.ask([LIST])
    assert remembered.read(asked) == {1, 2, 3}
    assert remembered.kept([LIST]) is not None
