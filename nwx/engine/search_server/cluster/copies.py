"""Operations on all copies of shards, and on the versions of an index with an alias."""

from collections.abc import Iterable, Mapping

from nwx.engine.capabilities import ShardHealth
from nwx.engine.search_server.cluster.partial_answers import partial_answer
from nwx.engine.search_server.server import Body, Server, pause, quoted
from nwx.errors import EngineError, EngineUnavailableError

_ATTEMPTS = 6
_ACTIVE = ("STARTED", "RELOCATING")
_MISSING = {"ignore_unavailable": "true"}


def refresh(server: Server, names: str, *, ignore_missing: bool = False) -> None:
    """Make writes visible to searches on each shard copy that answers searches.

    `names` are indices, separated by commas. Raises PartialAnswerError if a copy stays unreachable,
    and IndexMissingError on a missing index unless `ignore_missing`.
    """
    _on_all_copies(server, names, "_refresh", _MISSING if ignore_missing else {})


def flush(server: Server, names: str) -> None:
    """Flush the transaction logs of indices on each shard copy; missing indices are ignored."""
    params = {"force": "true", "wait_if_ongoing": "true", **_MISSING}
    _on_all_copies(server, names, "_flush", params)


def _on_all_copies(server: Server, names: str, what: str, params: Mapping[str, str]) -> None:
    path = f"/{quoted(names)}/{what}"
    for attempt in range(_ATTEMPTS):
        if attempt:
            pause(attempt)
        done = server.request("POST", path, params=params).get("_shards", {})
        successful, total = done.get("successful", 0), done.get("total", 0)
        if successful >= total:
            return
        # `total` includes unallocated copies, which catch up before they answer searches.
        active, lost = _active_copies(server, names)
        if not lost and successful >= active:
            return
    raise partial_answer(server.place, max(lost, 1), total, f"{what} of {names}")


def _active_copies(server: Server, names: str) -> tuple[int, int]:
    """Return the number of copies that answer searches, and of shards without any."""
    answer = server.request("GET", f"/{quoted(names)}/_search_shards", params=_MISSING)
    groups = [[one for one in group if one["state"] in _ACTIVE] for group in answer["shards"]]
    return sum(map(len, groups)), sum(not group for group in groups)


def shard_health(server: Server, name: str) -> ShardHealth:
    """Return the health of the shards of an index; `name` is its concrete name, not an alias."""
    answer = server.request("GET", f"/_cluster/health/{quoted(name)}", params={"level": "shards"})
    path = f"/{quoted(name)}/_settings/index.blocks.write"
    found = server.request("GET", path).get(name, {}).get("settings", {})
    block = found.get("index", {}).get("blocks", {}).get("write")
    return _health(name, answer["indices"][name], blocked=block == "true")


def _health(name: str, found: Body, *, blocked: bool) -> ShardHealth:
    missing = found["unassigned_shards"] + found["initializing_shards"]
    lost = [int(number) for number, shard in found["shards"].items() if not shard["primary_active"]]
    shards, replicas = found["number_of_shards"], found["number_of_replicas"]
    return ShardHealth(name, shards, replicas, tuple(sorted(lost)), missing, blocked)


def block_writes(server: Server, index: str) -> None:
    """Block writes to an index, and wait for writes in progress.

    Setting `index.blocks.write` alone would not wait.
    """
    answer = server.request("PUT", f"/{quoted(index)}/_block/write")
    # An index that was already blocked is not listed.
    if not all(one.get("blocked") for one in answer.get("indices", ())):
        raise EngineUnavailableError(
            f"not all shards of {index} at {server.address} blocked writes; try again"
        )


def allow_writes(server: Server, index: str) -> None:
    """Allow writes to an index again."""
    server.request("PUT", f"/{quoted(index)}/_settings", {"index.blocks.write": None})


def index_states(server: Server, names: str) -> Body:
    """Return aliases, mapping and settings of existing indices by their concrete names."""
    return server.request("GET", f"/{quoted(names)}", params={"ignore_unavailable": "true"})


def current_version(server: Server, alias: str) -> tuple[str, Body]:
    """Return the index of an alias and its state, or "" and {} without one.

    Raises EngineError if an index has the name of the alias: it cannot be replaced.
    """
    name, state = next(iter(index_states(server, alias).items()), ("", {}))
    if name == alias:
        raise EngineError(f"{alias} is an index, not an alias, and cannot be swapped")
    return name, state


def next_version(alias: str, old: str = "") -> str:
    """Return the name of the next version of an alias's index."""
    number = old.rpartition("-")[2]
    return f"{alias}-{int(number) + 1 if number.isdigit() else 1:06}"


def swap_versions(
    server: Server,
    old: Iterable[str],
    new: str,
    aliases: Iterable[str],
    filling: str = "",
    *,
    deletes: bool = False,
) -> None:
    """Atomically replace old indices by a new one under `aliases`, optionally deleting the old.

    `filling` is the alias under which the new one was filled; it is removed.
    """
    old = list(old)
    actions: list[Body] = [{"remove_index": {"index": one}} for one in old if deletes]
    for alias in dict.fromkeys(aliases):
        actions.append({"add": {"index": new, "alias": alias, "is_write_index": True}})
        actions += [{"remove": {"index": one, "alias": alias}} for one in old if not deletes]
    if filling:
        actions.append({"remove": {"index": new, "alias": filling}})
    server.request("POST", "/_aliases", {"actions": actions})


def delete_unplaced(server: Server, index: str, filling: str) -> None:
    """Delete an index unless it has replaced another, which is unknown if a response was lost.

    `filling` is the only alias of an index that has not replaced another.
    """
    for state in index_states(server, index).values():
        if not set(state.get("aliases", ())) - {filling}:
            server.request("DELETE", f"/{quoted(index)}")
