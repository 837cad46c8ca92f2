"""Answers from only some shards: always refused, except for searches that allow partial results."""

from urllib.parse import parse_qs, urlsplit

import pytest

from nwx.engine.search_server import server as server_module
from nwx.engine.search_server.pages import (
    count_hits,
    entries_by_id,
    numbers,
    pages,
    partial_allowed,
    search_page,
    search_pages,
)
from nwx.engine.search_server.refusals import IndexMissingError, RefusedError
from nwx.engine.search_server.server import Body, Server
from nwx.engine.search_server.writes import BulkAction, refresh, send
from nwx.engine.server_engines import ElasticEngine
from nwx.errors import EngineUnavailableError, PartialAnswerError
from nwx.model import IndexName
from nwx.query.question import Question
from nwx.settings import ServerSettings
from tests.unit.engine.search_server.fake_server import item, refusal, serving

LOST: Body = {"shard": 2, "index": "x", "reason": {"type": "no_shard_available_action_exception"}}
SOME: Body = {"_shards": {"total": 3, "successful": 2, "failed": 1, "failures": [LOST]}}
FEWER: Body = {"_shards": {"total": 3, "successful": 2, "failed": 0}}
HITS: Body = {"hits": {"total": {"value": 67, "relation": "eq"}, "hits": []}}
PIT: Body = {"id": "p", "_shards": {"total": 3, "successful": 3, "failed": 0}}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module.time, "sleep", lambda seconds: None)


def _scrolled(server: Server) -> list[list[Body]]:
    return list(pages(server, "x", {}, [{"id": "asc"}], 1))


@pytest.mark.parametrize("lacking", [SOME, FEWER, {**PIT, "timed_out": True}])
@pytest.mark.parametrize(
    "ask",
    [
        lambda server: search_page(server, "x", {}),
        lambda server: search_pages(server, "x", [{}]),
        lambda server: count_hits(server, "x", {}),
        lambda server: numbers(server, "x", {}),
        _scrolled,
        lambda server: server.request("GET", "/x/_count"),
        lambda server: server.request("POST", "/_search/scroll", {"scroll_id": "s"}),
    ],
)
def test_searches_are_whole_or_an_error(ask: object, lacking: Body) -> None:
    one = HITS | lacking
    answer = one | {"responses": [one], "aggregations": {"numbers": {"buckets": []}}}
    with (
        serving(lambda *_: (200, answer)) as (_, server),
        pytest.raises(PartialAnswerError, match=r"of 3 shards of .* did not answer"),
    ):
        ask(server)  # type: ignore[operator]


@pytest.mark.parametrize("lacking", [SOME, FEWER])
def test_the_later_pages_of_a_point_in_time_are_whole_too(lacking: Body) -> None:
    whole = HITS | {"hits": {"hits": [{"_id": "1", "sort": [1]}]}}
    answers = [whole, PIT, HITS | lacking, {}]
    with serving(lambda number, *_: (200, answers[number - 1])) as (fake, server):
        with pytest.raises(PartialAnswerError):
            _scrolled(server)
        assert [path.split("?")[0] for path, *_ in fake.requests] == [
            *("/x/_search", "/x/_pit", "/_search", "/_pit")
        ]


def test_numbers_of_a_search_that_ended_early_are_refused() -> None:
    """The server omits from an answer what was not requested."""
    numbers_found = {"aggregations": {"numbers": {"buckets": []}}}
    whole = HITS | PIT | {"timed_out": True} | numbers_found

    def answer(_: int, path: str, __: bytes) -> tuple[int, Body]:
        wanted = parse_qs(urlsplit(path).query)["filter_path"][0].split(",")
        tops = {one.split(".")[0] for one in wanted}
        return 200, {name: one for name, one in whole.items() if name in tops}

    with serving(answer) as (_, server), pytest.raises(PartialAnswerError):
        numbers(server, "x", {})


@pytest.mark.parametrize(
    ("status", "kind", "error"),
    [
        (503, "search_phase_execution_exception", PartialAnswerError),
        (400, "parsing_exception", RefusedError),
        (404, "index_not_found_exception", IndexMissingError),
    ],
)
def test_one_of_several_searches_fails_as_it_does_alone(
    status: int, kind: str, error: type[Exception]
) -> None:
    failed = {**refusal(kind), "status": status}
    answer = {"responses": [HITS, failed]}
    with serving(lambda *_: (200, answer)) as (_, server), pytest.raises(error):
        search_pages(server, "x", [{}, {}])
    with serving(lambda *_: (status, failed)) as (_, server), pytest.raises(error):
        search_page(server, "x", {})


def test_a_point_in_time_of_some_shards_is_refused() -> None:
    with (
        serving(lambda *_: (200, {"id": "p"} | SOME)) as (_, server),
        pytest.raises(PartialAnswerError),
    ):
        server.request("POST", "/x/_pit")


def test_a_point_in_time_that_a_node_took_along_is_no_end_of_results() -> None:
    answer = 404, refusal("search_context_missing_exception")
    with (
        serving(lambda *_: answer) as (_, server),
        pytest.raises(EngineUnavailableError, match="lost its search context"),
    ):
        search_page(server, "x", {})


def _shards(*groups: int) -> Body:
    return {"shards": [[{"state": "STARTED"}] * copies for copies in groups]}


def test_a_refresh_reaches_each_copy_that_is_there() -> None:
    """Elasticsearch counts a shard without any copy as missing, not as failed."""
    refreshed: Body = {"_shards": {"total": 4, "successful": 3, "failed": 0}}
    with serving(lambda number, *_: (200, [refreshed, _shards(2, 1)][number - 1])) as (_, server):
        refresh(server, "x")
    answers = [refreshed, _shards(2, 2)]
    with (
        serving(lambda number, *_: (200, answers[(number - 1) % 2])) as (_, server),
        pytest.raises(PartialAnswerError),
    ):
        refresh(server, "x")
    answers = [refreshed, _shards(3, 0)]
    with (
        serving(lambda number, *_: (200, answers[(number - 1) % 2])) as (_, server),
        pytest.raises(PartialAnswerError),
    ):
        refresh(server, "x")


def test_an_entry_that_one_copy_failed_to_take_is_written() -> None:
    """The server removes the failed copy from the in-sync set before it answers."""
    written = item(201)
    written["index"]["_shards"] = {"total": 2, "successful": 1, "failed": 1}
    with serving(lambda *_: (200, {"items": [written]})) as (_, server):
        assert send(server, [BulkAction("x", "1", {})]) == ["created"]


def test_a_shard_without_copies_takes_no_entries() -> None:
    error = {"type": "unavailable_shards_exception", "reason": "primary shard is not active"}
    answer = {"items": [item(503, error=error)]}
    with (
        serving(lambda *_: (200, answer)) as (_, server),
        pytest.raises(EngineUnavailableError, match="not active"),
    ):
        send(server, [BulkAction("x", "1", {})])


def test_partial_answers_are_counted_where_they_are_allowed() -> None:
    with serving(lambda *_: (200, HITS | SOME)) as (fake, server):
        with partial_allowed() as lacking:
            assert search_page(server, "x", {})["hits"]["total"]["value"] == 67
        assert (lacking.missing, lacking.shards) == (1, 3)
        assert "allow_partial_search_results=true" in fake.requests[0][0]
        with pytest.raises(PartialAnswerError):
            search_page(server, "x", {})
        assert "allow_partial_search_results=false" in fake.requests[1][0]


def test_entries_of_lost_shards_are_left_out_where_answers_may_be_partial() -> None:
    lost = {"_id": "1", **refusal("no_shard_available_action_exception")}
    docs = {"docs": [lost, {"_id": "2", "found": True, "_source": {}}]}
    with serving(lambda *_: (200, docs)) as (_, server):
        with partial_allowed() as lacking:
            assert set(entries_by_id(server, "x", ["1", "2"], "true")) == {"2"}
        assert lacking.missing == 1
        with pytest.raises(PartialAnswerError, match="does not give an entry of x"):
            entries_by_id(server, "x", ["1", "2"], "true")


def test_a_missing_index_is_no_lost_shard() -> None:
    """Like that of inlinks, if none were built."""
    missing = {"_id": "1", **refusal("index_not_found_exception")}
    with serving(lambda *_: (200, {"docs": [missing]})) as (_, server), partial_allowed() as found:
        with pytest.raises(IndexMissingError):
            entries_by_id(server, "x", ["1"], "true")
        assert found.missing == 0


@pytest.mark.parametrize("partial", [True, False])
def test_results_tell_what_they_lack(partial: bool) -> None:
    total: Body = {"hits": {"total": {"value": 0}, "hits": []}, "aggregations": {}}

    def answer(_: int, path: str, __: bytes) -> tuple[int, Body]:
        if path.startswith("/nwx-documents/_search"):
            return 200, total | SOME
        if path.startswith("/nwx-documents,"):
            made = {"aliases": {"nwx-documents": {}}, "mappings": {}}
            return 200, {"nwx-documents-000001": made}
        return 200, {"docs": []} if "_mget" in path else {}

    with serving(answer) as (fake, _):
        settings = ServerSettings(partial=partial)
        with ElasticEngine(f"http://{fake.address}", settings) as engine:
            if not partial:
                with pytest.raises(PartialAnswerError):
                    engine.search(Question("words"))
                return
            found = engine.search(Question("words"))
            assert (found.missing_shards, found.shards) == (1, 3)
            assert (found.total.relation, found.documents.relation) == ("gte", "gte")
            with pytest.raises(PartialAnswerError):
                engine.count(IndexName.DOCUMENTS)
