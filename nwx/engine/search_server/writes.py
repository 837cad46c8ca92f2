"""Writes to the indices of a server: bulk requests, refreshes on all copies, versions by alias."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nwx.engine.base import StagedBatch, Staging
from nwx.engine.capabilities import ShardHealth
from nwx.engine.search_server.refusals import Refusal, entry_refused, partial_answer, read_refusal
from nwx.engine.search_server.server import (
    BUSY_ATTEMPTS,
    Body,
    Server,
    from_json,
    pause,
    quoted,
    to_json,
)
from nwx.errors import EngineError, EngineUnavailableError
from nwx.model import Batch, SourceFile, Written

CHUNK_ITEMS = 1_000
CHUNK_BYTES = 8 << 20
_OUTCOMES = {200, 201, 404, 409}
_PARAMS = {"require_alias": "true", "filter_path": "items.*.status,items.*.result,items.*.error"}
_ATTEMPTS = 6
_ACTIVE = ("STARTED", "RELOCATING")
IGNORE_MISSING = {"ignore_unavailable": "true"}
"""The parameters of requests on indices of which some may not exist."""


@dataclass(frozen=True, slots=True)
class BulkAction:
    """One action of a bulk request: writes `entry` (JSON), or deletes it if None.

    `control` has version parameters, such as `if_seq_no`.
    """

    index: str
    id: str
    entry: object
    operation: str = "index"
    control: tuple[tuple[str, Any], ...] = ()

    def lines(self) -> bytes:
        """Return the action as lines of a bulk request."""
        head = {self.operation: {"_index": self.index, "_id": self.id, **dict(self.control)}}
        entry = b"" if self.entry is None else to_json(self.entry) + b"\n"
        return to_json(head) + b"\n" + entry


def send(server: Server, actions: Iterable[BulkAction]) -> list[str]:
    """Perform all actions; return the outcome of each, in order.

    Outcomes are `created`, `updated`, `deleted`, `not_found`, and `conflict` if the version on the
    server forbids the action.
    """
    return list(send_lines(server, (action.lines() for action in actions)))


def send_lines(server: Server, actions: Iterable[bytes]) -> Iterator[str]:
    """Perform actions, each given as request lines; yield the outcome of each, in order."""
    for chunk in _chunks(actions):
        yield from _send_chunk(server, chunk)


def _chunks(actions: Iterable[bytes]) -> Iterator[list[bytes]]:
    chunk: list[bytes] = []
    size = 0
    for lines in actions:
        if chunk and (len(chunk) >= CHUNK_ITEMS or size + len(lines) > CHUNK_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(lines)
        size += len(lines)
    if chunk:
        yield chunk


def _send_chunk(server: Server, chunk: Sequence[bytes]) -> list[str]:
    outcomes = [""] * len(chunk)
    open_items = list(range(len(chunk)))
    for attempt in range(BUSY_ATTEMPTS):
        if attempt:
            pause(attempt)
        body = b"".join(chunk[i] for i in open_items)
        # `require_alias`: else the server creates a missing index, without its mapping.
        answer = server.request("POST", "/_bulk", body, params=_PARAMS)
        results = [next(iter(item.values())) for item in answer["items"]]
        refused: dict[int, Refusal] = {}
        for i, result in zip(open_items, results, strict=True):
            outcome = _outcome(server, chunk[i], result)
            if isinstance(outcome, Refusal):
                refused[i] = outcome
            else:
                outcomes[i] = outcome
        if not refused:
            return outcomes
        open_items = list(refused)
    last = refused[open_items[0]]
    does_not = f"does not accept {len(open_items)} entries after {BUSY_ATTEMPTS} attempts"
    raise (
        entry_refused(server.place, last, does_not)
        if last.blocked
        else EngineUnavailableError(
            f"{server.place} is too busy: {len(open_items)} entries were refused "
            f"{BUSY_ATTEMPTS} times: {last.reason}"
        )
    )


def _outcome(server: Server, lines: bytes, result: dict[str, Any]) -> str | Refusal:
    """Return the outcome of an action, or its refusal if it should be retried.

    `_shards` of an entry can be ignored: before the server answers, it keeps a copy that failed to
    write from becoming the primary.
    """
    status = result["status"]
    if status in _OUTCOMES and ("error" not in result or status == 409):
        return "conflict" if status == 409 else str(result["result"])
    refusal = read_refusal(result, status)
    if refusal.busy or refusal.blocked:
        return refusal
    head, _, entry = lines.partition(b"\n")
    (action,) = from_json(head).values()
    size = len(entry.rstrip(b"\n"))
    does_not = f"does not accept {action['_id'][:200]!r} for {action['_index']} ({size} bytes)"
    raise entry_refused(server.place, refusal, does_not)


class ServerStaging(Staging):
    """Staging that sends batches to the server immediately; only ledger entries remain to write."""

    def __init__(self, store: Callable[[Batch], Written]) -> None:
        self._store = store
        self._files: list[SourceFile] = []
        self._written: list[Written] = []

    def add(self, batch: Batch) -> None:
        self._written.append(self._store(batch))
        self._files += batch.files

    @property
    def is_full(self) -> bool:
        return True

    def finish(self) -> StagedBatch:
        files, written = tuple(self._files), self._written
        self._files, self._written = [], []
        total = Written(
            sum(one.documents for one in written),
            sum(one.replaced for one in written),
            sum(one.captures for one in written),
            sum(one.dates for one in written),
        )
        return StagedBatch(files, total)


def refresh(server: Server, names: str, *, ignore_missing: bool = False) -> None:
    """Make writes visible to searches on each shard copy that answers searches.

    `names` are indices, separated by commas. Raises PartialAnswerError if a copy stays unreachable,
    and IndexMissingError on a missing index unless `ignore_missing`.
    """
    _on_all_copies(server, names, "_refresh", IGNORE_MISSING if ignore_missing else {})


def flush(server: Server, names: str) -> None:
    """Flush the transaction logs of indices on each shard copy; missing indices are ignored."""
    params = {"force": "true", "wait_if_ongoing": "true", **IGNORE_MISSING}
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
    answer = server.request("GET", f"/{quoted(names)}/_search_shards", params=IGNORE_MISSING)
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
    return server.request("GET", f"/{quoted(names)}", params=IGNORE_MISSING)


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
