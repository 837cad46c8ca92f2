"""Stored lists, used as long as their last verified state is unchanged."""

import json
from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.engine.search_server import schema
from nwx.engine.search_server.documents.id_lists import ListQueries, RememberedNumbers, pack_numbers
from nwx.engine.search_server.refusals import RefusedError
from nwx.engine.search_server.server import Body, Server
from nwx.errors import ErrorText

LIST = ("dates", {"match_all": {}})


class ListServer:
    """A server that stores the numbers of one list."""

    def __init__(self) -> None:
        self.numbers = [1, 2]
        self.changes = 1.0

    def request(self, method: str, path: str, body: object, *_: object, **__: object) -> Body:
        """Answer like a search server."""
        buckets = [{"key": number, "doc_count": 1} for number in self.numbers]
        aggs: Body = {"numbers": {"buckets": buckets}}
        aggs |= {name: {"value": self.changes} for name in ("sum", "max")}
        answer = {"hits": {"total": {"value": len(self.numbers)}}, "aggregations": aggs}
        return {"responses": [answer]} if path.endswith("_msearch") else answer

    def states(self) -> list[Body]:
        """Return the answers to searches for stored lists."""
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


NUMBERS = st.one_of(
    st.integers(0, 2**63 - 1),
    st.integers(0, 40).map(lambda low: (4_711 << 50) + low),
    st.sampled_from([0, 1, 2**50 - 1, 2**50, 2**63 - 1]),
)


def is_listed(number: int, begins: str, rests: str) -> bool:
    """Return whether a number is in a packed list, by the algorithm of the script."""
    bucket = 4 * (number >> 50)
    begin, end = (read(begins[place : place + 4]) for place in (bucket, bucket + 4))
    return any(
        read(rests[at : at + 10]) == number & (2**50 - 1) for at in range(begin * 10, end * 10, 10)
    )


def read(digits: str) -> int:
    value = 0
    for digit in digits:
        value = (value << 5) + ord(digit) - 48
    return value


@given(st.frozensets(NUMBERS, max_size=60), st.lists(NUMBERS, max_size=20))
def test_a_number_is_found_where_it_is_listed(numbers: frozenset[int], others: list[int]) -> None:
    packed = json.loads(bytes(pack_numbers(numbers)))
    assert all(is_listed(number, **packed) for number in numbers)
    assert [is_listed(one, **packed) for one in others] == [one in numbers for one in others]


def test_packed_lists_are_written_into_json_as_they_are() -> None:
    packed = bytes(pack_numbers(frozenset(range(0, 2**63, 2**49))))
    assert b"\\" not in packed
    assert packed.isascii()


class CountingServer:
    """A server of `documents` documents, which may refuse scripts."""

    def __init__(self, documents: int, *, scripts: bool = True) -> None:
        self.documents = documents
        self.scripts = scripts
        self.asked = 0

    def request(self, method: str, path: str, body: Body, params: Body, **_: object) -> Body:
        """Answer like a search server."""
        self.asked += 1
        if "script" in body["query"] and not self.scripts:
            types = frozenset({"illegal_argument_exception"})
            raise RefusedError(ErrorText("no scripts"), 400, types)
        return {"hits": {"total": {"value": self.documents}}, "_shards": {"total": 1}}


def kinds(server: CountingServer, *, among: int | None = None) -> list[str]:
    """Return the clauses of the queries of a short and a long list."""
    lists = ListQueries(cast(Server, server), "documents")
    made = [lists.query(frozenset(range(size)), among) for size in (2, 10)]
    return [kind for one in made for kind in one]


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "LOOKED_UP", 5)


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
