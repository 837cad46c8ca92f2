"""A capture is stored once, and never overwrites another."""

from typing import Any

import pytest

from nwx.engine.search_server.capture_store import CaptureStore
from nwx.engine.search_server.server import Server
from nwx.errors import EngineError, EngineUnavailableError
from nwx.model import Capture
from tests.unit.engine.embedded.making import page
from tests.unit.engine.search_server.fake_server import Reply, item, serving

ONE, TWO = (page(number).capture for number in (1, 2))


def answer(_: int, path: str, body: bytes) -> Reply:
    """Answer like a server that already has the first of the captures."""
    if "_bulk" not in path:
        return 200, {}
    conflict = item(409, error={"type": "version_conflict_engine_exception"})
    count = len(body.splitlines()) // 2
    found = [conflict if number == 0 else item(201) for number in range(count)]
    return 200, {"items": [{"create": one["index"]} for one in found]}


def loaded(server: Server, captures: list[Capture]) -> int:
    return CaptureStore(server, "captures").load([captures])


def added(server: Server, captures: list[Capture]) -> int:
    return CaptureStore(server, "captures").add(captures)


@pytest.mark.parametrize("store", [added, loaded])
def test_the_same_capture_again_changes_nothing(store: Any) -> None:
    with serving(answer) as (_, server):
        assert store(server, [ONE, TWO]) == 1


@pytest.mark.parametrize("store", [added, loaded])
def test_a_capture_that_could_have_the_id_of_another_is_an_error(store: Any) -> None:
    with serving(answer) as (fake, server):
        with pytest.raises(EngineError, match="'we/b' is not a valid collection name"):
            store(server, [ONE._replace(collection="we/b"), TWO])
        assert fake.requests == []


def copy(number: int, *, primary: bool = True) -> dict[str, Any]:
    return {"routing": {"primary": primary}, "seq_no": {"global_checkpoint": number}}


def answering(shards: dict[str, list[dict[str, Any]]] | None) -> Any:
    """Return an application that answers like a server with two shards, some of them available."""

    def answer(number: int, path: str, body: bytes) -> Reply:
        if "/_settings" in path:
            return 200, {"nwx": {"settings": {"index": {"number_of_shards": "2"}}}}
        if "/_stats" in path and shards is not None:
            return 200, {"indices": {"nwx": {"uuid": "abc", "shards": shards}}}
        return 200, {}

    return answer


def test_a_mark_of_all_shards() -> None:
    shards = {"1": [copy(3, primary=False), copy(9)], "0": [copy(-1)]}
    with serving(answering(shards)) as (_, server):
        assert CaptureStore(server, "nwx").mark() == "abc:-1,9"


@pytest.mark.parametrize(
    "shards",
    [None, {}, {"0": [copy(5)]}, {"0": [copy(5)], "1": [copy(5, primary=False)]}],
)
def test_a_shard_that_is_missing(shards: dict[str, list[dict[str, Any]]] | None) -> None:
    with serving(answering(shards)) as (_, server):
        with pytest.raises(EngineUnavailableError, match="lacks shards of nwx"):
            CaptureStore(server, "nwx").mark()
        with pytest.raises(EngineUnavailableError):
            next(CaptureStore(server, "nwx").since("abc:3,4"))
