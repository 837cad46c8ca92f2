"""Changes of the number of shards: interrupted, blocked, or met by other changes."""

import json
from typing import Any

import pytest

from nwx import mappings
from nwx.bulk.progress import no_progress
from nwx.engine.search_server import server as server_module
from nwx.engine.search_server.shard_changes import Resharding
from nwx.errors import EngineError, EngineUnavailableError, UsageError
from nwx.model import IndexName
from tests.unit.engine.search_server.fake_server import Reply, refusal, serving

OLD, NEW = "nwx-captures-000001", "nwx-captures-000002"
MAPPING = {"_meta": {"attached": {"one": "x"}}, "properties": {}}
WHOLE = {"total": 1, "successful": 1, "failed": 0}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module.time, "sleep", lambda seconds: None)


def index(alias: str = "") -> dict[str, Any]:
    form = mappings.mapping(IndexName.CAPTURES)["settings"]
    settings = {"index": {"number_of_replicas": "0"} | form}
    return {"aliases": {alias: {}} if alias else {}, "settings": settings, "mappings": MAPPING}


class Indices:
    """The indices of an alias; the current one has two shards and may be blocked."""

    def __init__(self, current: str, others: tuple[str, ...] = (), block: str = "true") -> None:
        self.current, self.block = current, block
        self.found = {current: index("nwx-captures")} | {name: index() for name in others}
        self.health: Reply = (200, {"timed_out": False})
        self.is_blocked = True

    def answer(self, _: int, path: str, body: bytes) -> Reply:
        place, _, asked = path.partition("?")
        names = {
            "/nwx-captures": [self.current],
            "/nwx-captures-%2A": list(self.found),
            "/nwx-captures-*": list(self.found),
        }.get(place, [place[1:]])
        if place.count("/") == 1 and asked:
            return 200, {name: self.found[name] for name in names if name in self.found}
        if place == f"/_cluster/health/{self.current}":
            copies = {"unassigned_shards": 0, "initializing_shards": 0, "shards": {}}
            return 200, {
                "indices": {self.current: copies | {"number_of_shards": 2, "number_of_replicas": 0}}
            }
        if place.startswith("/_cluster/health/"):
            return self.health
        if place.endswith("/_settings/index.blocks.write"):
            return 200, {self.current: {"settings": {"index": {"blocks": {"write": self.block}}}}}
        if place.endswith(f"/_split/{NEW}"):
            self.found[NEW] = index()
        if place.endswith("/_search"):
            return 200, {"_shards": WHOLE, "hits": {"total": {"value": 3}, "hits": []}}
        if place.endswith("/_block/write"):
            return 200, {"indices": [{"name": self.current, "blocked": self.is_blocked}]}
        stats = {"_all": {"total": {"search": {"open_contexts": 0}}}}
        return 200, {"_shards": WHOLE} | (stats if "/_stats/" in place else {})


def test_a_run_that_was_killed_after_its_swap_leaves_nothing_for_ever() -> None:
    indices = Indices(NEW, (OLD,))
    with serving(indices.answer) as (fake, server):
        with pytest.raises(UsageError, match="already has 2 shards"):
            Resharding(server, "nwx-captures", IndexName.CAPTURES).run(2, no_progress)
        assert f"/{OLD}" in [path for path, *_ in fake.requests], "it is deleted"
        assert f"/{NEW}" not in [path for path, *_ in fake.requests]


def test_what_was_not_left_is_not_undone() -> None:
    for others, block in (((NEW,), "false"), ((), "true")):
        with serving(Indices(OLD, others, block).answer) as (fake, server):
            Resharding(server, "nwx-captures", IndexName.CAPTURES).undo()
            assert fake.requests[-1][0] == f"/{OLD}/_settings"
    with serving(Indices(OLD, block="false").answer) as (fake, server):
        with pytest.raises(UsageError, match="nothing to undo"):
            Resharding(server, "nwx-captures", IndexName.CAPTURES).undo()
        assert f"/{OLD}/_settings" not in [path for path, *_ in fake.requests]


def test_what_is_noted_in_the_mapping_meanwhile_is_taken_along() -> None:
    indices = Indices(OLD)
    with serving(indices.answer) as (fake, server):
        assert Resharding(server, "nwx-captures", IndexName.CAPTURES).run(4, no_progress) == "split"
        asked = {path: json.loads(body or b"{}") for path, _, body in fake.requests}
        assert asked[f"/{NEW}/_mapping"] == MAPPING
        paths = [path for path, *_ in fake.requests]
        assert paths.index(f"/{NEW}/_mapping") < paths.index("/_aliases")


def test_an_index_that_could_be_written_to_meanwhile_stays() -> None:
    indices = Indices(OLD, block="false")
    with serving(indices.answer) as (fake, server):
        with pytest.raises(EngineError, match="was writable meanwhile"):
            Resharding(server, "nwx-captures", IndexName.CAPTURES).run(4, no_progress)
        assert "/_aliases" not in [path for path, *_ in fake.requests]
        assert f"/{NEW}" in [path for path, *_ in fake.requests], "it is deleted"


def test_writes_that_do_not_end_are_waited_for() -> None:
    indices = Indices(OLD)
    indices.is_blocked = False
    with serving(indices.answer) as (fake, server):
        with pytest.raises(EngineUnavailableError, match="blocked writes"):
            Resharding(server, "nwx-captures", IndexName.CAPTURES).run(4, no_progress)
        asked = [path for path, *_ in fake.requests]
        assert not any("_split" in path for path in asked)
        assert asked[-1] == f"/{OLD}/_settings", "it may be written to again"


def test_a_new_index_that_others_delete_is_not_waited_for() -> None:
    indices = Indices(OLD)
    indices.health = 408, refusal("timeout")

    def answer(number: int, path: str, body: bytes) -> Reply:
        if path.startswith(f"/_cluster/health/{NEW}"):
            indices.found.pop(NEW)
        return indices.answer(number, path, body)

    with (
        serving(answer) as (_, server),
        pytest.raises(EngineError, match="was deleted meanwhile"),
    ):
        Resharding(server, "nwx-captures", IndexName.CAPTURES).run(4, no_progress)
