"""The copies of shards: which are there, and written entries made visible on all of them."""

from collections.abc import Mapping

from nwx.engine.search_server.cluster.loading import is_loading
from nwx.engine.search_server.cluster.partial_answers import partial_answer
from nwx.engine.search_server.server import Body, Server, pause, quoted
from nwx.engine.shard_health import ShardHealth

_ATTEMPTS = 6
_ACTIVE = ("STARTED", "RELOCATING")
_MISSING = {"ignore_unavailable": "true"}


def refresh(server: Server, names: str) -> None:
    """Make what was written visible to searches on each copy that answers searches.

    `names` are indices, divided by commas; those that there are not are left out.
    Raises PartialAnswerError where a copy stays out of reach.
    """
    _on_all_copies(server, names, "_refresh", {})


def flush(server: Server, names: str) -> None:
    """Write what is in the logs of operations of indices to their files, on each copy."""
    _on_all_copies(server, names, "_flush", {"force": "true", "wait_if_ongoing": "true"})


def _on_all_copies(server: Server, names: str, what: str, params: Mapping[str, str]) -> None:
    path = f"/{quoted(names)}/{what}"
    for attempt in range(_ATTEMPTS):
        if attempt:
            pause(attempt)
        done = server.request("POST", path, params={**params, **_MISSING})["_shards"]
        if done["successful"] >= done["total"]:
            return
        # A copy that is not there counts too; it catches up before it is asked.
        active, lost = _active_copies(server, names)
        if not lost and done["successful"] >= active:
            return
    missing = max(lost, 1)
    raise partial_answer(server.place, missing, done["total"], f"{what} of {names}")


def _active_copies(server: Server, names: str) -> tuple[int, int]:
    """Return how many copies are asked by searches, and how many shards have none."""
    answer = server.request("GET", f"/{quoted(names)}/_search_shards", params=_MISSING)
    groups = [[one for one in group if one["state"] in _ACTIVE] for group in answer["shards"]]
    return sum(map(len, groups)), sum(not group for group in groups)


def shard_health(server: Server, name: str) -> ShardHealth:
    """Return how the shards of an index do, which is called by its own name."""
    answer = server.request("GET", f"/_cluster/health/{quoted(name)}", params={"level": "shards"})
    return _health(name, answer["indices"][name], loading=is_loading(server, name))


def _health(name: str, found: Body, *, loading: bool) -> ShardHealth:
    missing = found["unassigned_shards"] + found["initializing_shards"]
    lost = [
        int(number) for number, shard in found["shards"].items() if not shard["primary_active"]
    ]
    shards, replicas = found["number_of_shards"], found["number_of_replicas"]
    return ShardHealth(name, shards, replicas, tuple(sorted(lost)), missing, loading)
