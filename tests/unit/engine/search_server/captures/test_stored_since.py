"""Marks of a server whose shards are not all there: nothing is taken for lost."""

from typing import Any

import pytest

from nwx.engine.search_server.captures.stored_since import capture_mark, captures_since
from nwx.errors import EngineUnavailableError
from tests.unit.engine.search_server.fake_server import Reply, serving


def copy(number: int, *, primary: bool = True) -> dict[str, Any]:
    return {"routing": {"primary": primary}, "seq_no": {"global_checkpoint": number}}


def answering(shards: dict[str, list[dict[str, Any]]] | None) -> Any:
    """Return what answers as a server with two shards, of which some are there."""

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
        assert capture_mark(server, "nwx") == "abc:-1,9"


@pytest.mark.parametrize(
    "shards",
    [None, {}, {"0": [copy(5)]}, {"0": [copy(5)], "1": [copy(5, primary=False)]}],
)
def test_a_shard_that_is_missing(shards: dict[str, list[dict[str, Any]]] | None) -> None:
    with serving(answering(shards)) as (_, server):
        with pytest.raises(EngineUnavailableError, match="lacks shards of nwx"):
            capture_mark(server, "nwx")
        with pytest.raises(EngineUnavailableError):
            next(captures_since(server, "nwx", "abc:3,4", "", ""))
