"""Captures written to a search server, each once, deleted, and read in order of storing."""

import json
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from nwx.captures import values_of
from nwx.engine.entries import IndexEntry, capture_entry
from nwx.engine.search_server.bulk import BulkAction, send, send_lines
from nwx.engine.search_server.captures.entries import (
    PLACE_ORDER,
    ascending,
    capture_action,
    captures_of,
    read_fields,
)
from nwx.engine.search_server.cluster.copies import refresh
from nwx.engine.search_server.pages import pages
from nwx.engine.search_server.server import Body, Server, quoted
from nwx.errors import EngineUnavailableError, StaleMarkError
from nwx.model import Capture

_AT_ONCE = 1_000
_PAGE = 1_000
_NONE = -1


class _Mark(NamedTuple):
    """The identity of an index, and the last sequence number of each shard."""

    uuid: str
    numbers: tuple[int, ...]

    def text(self) -> str:
        return f"{self.uuid}:{','.join(map(str, self.numbers))}"


def _read(text: str, end: _Mark) -> _Mark:
    index, _, listed = text.rpartition(":")
    try:
        mark = _Mark(index, tuple(map(int, listed.split(","))))
    except ValueError:
        mark = _Mark("", ())
    same = mark.uuid == end.uuid and len(mark.numbers) == len(end.numbers)
    if not same or any(a > b for a, b in zip(mark.numbers, end.numbers, strict=True)):
        raise StaleMarkError(
            f"the captures of the archive have no mark {text[:80]!r}; begin from the first one"
        )
    return mark


class CaptureStore:
    """The captures of a server, written, deleted, and in the order of their storing."""

    def __init__(self, server: Server, index: str) -> None:
        self._server = server
        self._index = index

    def add(self, captures: Iterable[Capture]) -> int:
        """Add captures; return how many were new. Stored captures stay unchanged."""
        return self._created(action.lines() for action in self._actions(captures))

    def load(self, batches: Iterable[Sequence[Capture]]) -> int:
        """Add captures, visible when it returns; return how many were new."""
        with tempfile.TemporaryFile(prefix="nwx-load-") as spool:
            # All of it first: what comes from outside may turn out to be wrong at its end.
            for batch in batches:
                spool.writelines(action.lines() for action in self._actions(batch))
            spool.seek(0)
            new = self._created(head + next(spool) for head in spool)
        refresh(self._server, self._index)
        return new

    def unload(self, ids: Iterable[str]) -> int:
        """Delete captures; return how many there were."""
        with tempfile.TemporaryFile(prefix="nwx-unload-") as spool:
            spool.writelines(f"{json.dumps(id)}\n".encode() for id in ids)
            spool.seek(0)
            deleted = 0
            while lines := list(islice(spool, _AT_ONCE)):
                actions = (
                    BulkAction(self._index, json.loads(line), None, "delete") for line in lines
                )
                deleted += send(self._server, actions).count("deleted")
        refresh(self._server, self._index)
        return deleted

    def entries(self) -> Iterator[IndexEntry]:
        """Stream the entries of all captures, by collection, file and offset."""
        order = (PLACE_ORDER[-1], *PLACE_ORDER[:-1])
        body: Body = {"query": {"match_all": {}}} | read_fields(self._server, order=order)
        for page in pages(self._server, self._index, body, ascending(order)):
            yield from map(capture_entry, captures_of(self._server, self._index, page, order))

    def mark(self, known: str = "") -> str:
        """Return the mark after all written captures, and make them visible to searches.

        If the mark is still `known`, they are visible already.
        """
        end = self._end(known)
        text = end.text()
        if text != known:
            refresh(self._server, self._index)
        return text

    def since(
        self, mark: str, until: str = "", collection: str = ""
    ) -> Iterator[tuple[Capture, str]]:
        """Stream captures, as `CaptureIndex.captures_since` does, one shard after the other."""
        end = self._end()
        last = _read(until, end) if until else end
        now = _read(mark, end) if mark else _Mark(end.uuid, (_NONE,) * len(end.numbers))
        if all(after >= before for after, before in zip(now.numbers, last.numbers, strict=True)):
            return
        refresh(self._server, self._index)
        for shard, (first, final) in enumerate(zip(now.numbers, last.numbers, strict=True)):
            done, waiting = last.numbers[:shard], now.numbers[shard + 1 :]
            for capture, number in self._of_shard(shard, (first, final), collection):
                yield capture, _Mark(end.uuid, (*done, number, *waiting)).text()

    def _actions(self, captures: Iterable[Capture]) -> Iterator[BulkAction]:
        return (capture_action(self._server, self._index, row) for row in values_of(captures))

    def _created(self, actions: Iterable[bytes]) -> int:
        return sum(outcome == "created" for outcome in send_lines(self._server, actions))

    def _of_shard(
        self, shard: int, span: tuple[int, int], collection: str
    ) -> Iterator[tuple[Capture, int]]:
        body: Body = {"sort": [{"_seq_no": "asc"}], "size": _PAGE, "track_total_hits": False}
        body |= read_fields(self._server)
        params = {"preference": f"_shards:{shard}", "allow_partial_search_results": "false"}
        own = [{"term": {"collection": collection}}] if collection else []
        number, final = span
        while number < final:
            upto = {"range": {"_seq_no": {"gt": number, "lte": final}}}
            body |= {"query": {"bool": {"filter": [upto, *own]}}}
            answer = self._server.request(
                "POST", f"/{quoted(self._index)}/_search", body, params=params
            )
            hits = answer["hits"]["hits"]
            for capture, hit in zip(
                captures_of(self._server, self._index, hits), hits, strict=True
            ):
                number = int(hit["sort"][0])
                yield capture, number
            if len(hits) < _PAGE:
                return

    def _end(self, known: str = "") -> _Mark:
        """Return the number up to which all is written on each shard; `known` is an earlier end.

        Raises EngineUnavailableError while shards are missing, as during the start of a server: a
        mark of the other shards would not match any known one.
        """
        answer = self._server.request(
            "GET",
            f"/{quoted(self._index)}/_stats",
            params={
                "level": "shards",
                "filter_path": "indices.*.uuid,indices.*.shards.*.seq_no,"
                "indices.*.shards.*.routing.primary",
            },
        )
        found: Body = next(iter(answer.get("indices", {}).values()), {})
        numbers = {
            int(shard): int(copy["seq_no"]["global_checkpoint"])
            for shard, copies in found.get("shards", {}).items()
            for copy in copies
            if copy["routing"]["primary"] and "seq_no" in copy
        }
        uuid = str(found.get("uuid", ""))
        of_same = known.startswith(f"{uuid}:") and len(numbers) == known.count(",") + 1
        if not uuid or not (of_same or len(numbers) >= self._shards()):
            raise EngineUnavailableError(
                f"{self._server.place} lacks shards of {self._index}; see how it does"
            )
        return _Mark(uuid, tuple(numbers[shard] for shard in sorted(numbers)))

    def _shards(self) -> int:
        """Return how many shards an index has."""
        (found,) = self._server.request(
            "GET",
            f"/{quoted(self._index)}/_settings/index.number_of_shards",
        ).values()
        return int(found["settings"]["index"]["number_of_shards"])
