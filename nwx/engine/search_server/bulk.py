"""Bulk writes: sent in chunks, retried if the server is too busy, with an outcome per item."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from nwx.engine.base import StagedBatch, Staging
from nwx.engine.search_server.refusals import Refusal, entry_refused, read_refusal
from nwx.engine.search_server.server import BUSY_ATTEMPTS, Server, from_json, pause, to_json
from nwx.errors import EngineUnavailableError
from nwx.model import Batch, SourceFile, Written

CHUNK_ITEMS = 1_000
CHUNK_BYTES = 8 << 20
_OUTCOMES = {200, 201, 404, 409}
_PARAMS = {"require_alias": "true", "filter_path": "items.*.status,items.*.result,items.*.error"}


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
