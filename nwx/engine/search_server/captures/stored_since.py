"""Captures in the order in which each shard stored them, by their sequence numbers.

A shard numbers what is written to it. Writes go on side by side, so that a
search may find a higher number before a lower one: what is streamed ends at
the checkpoint of a shard, up to which all is written on all its copies. A
mark holds the identity of the index and a number for each shard.
"""

from collections.abc import Iterator
from typing import NamedTuple

from nwx.engine.entries import capture_from_entry
from nwx.engine.search_server.cluster.copies import refresh
from nwx.engine.search_server.server import Body, Server, quoted
from nwx.errors import EngineUnavailableError, StaleMarkError
from nwx.model import Capture

_PAGE = 1_000
_NONE = -1


class _Mark(NamedTuple):
    """The identity of an index, and the last sequence number of each shard."""

    uuid: str
    numbers: tuple[int, ...]

    def text(self) -> str:
        return f"{self.uuid}:{','.join(map(str, self.numbers))}"


def capture_mark(server: Server, index: str, known: str = "") -> str:
    """Return the mark behind all captures that are written, and have them found.

    Where it is still `known`, they are found already.
    """
    end = _end(server, index, known)
    text = end.text()
    if text != known:
        refresh(server, index)
    return text


def captures_since(
    server: Server, index: str, mark: str, until: str, collection: str
) -> Iterator[tuple[Capture, str]]:
    """Stream captures, as `CaptureIndex.captures_since` does, one shard after the other."""
    end = _end(server, index)
    last = _read(until, end) if until else end
    now = _read(mark, end) if mark else _Mark(end.uuid, (_NONE,) * len(end.numbers))
    if all(after >= before for after, before in zip(now.numbers, last.numbers, strict=True)):
        return
    refresh(server, index)
    for shard, (first, final) in enumerate(zip(now.numbers, last.numbers, strict=True)):
        done, waiting = last.numbers[:shard], now.numbers[shard + 1 :]
        for capture, number in _of_shard(server, index, shard, (first, final), collection):
            yield capture, _Mark(end.uuid, (*done, number, *waiting)).text()


def _of_shard(
    server: Server, index: str, shard: int, span: tuple[int, int], collection: str
) -> Iterator[tuple[Capture, int]]:
    body: Body = {"sort": [{"_seq_no": "asc"}], "size": _PAGE, "track_total_hits": False}
    params = {"preference": f"_shards:{shard}", "allow_partial_search_results": "false"}
    own = [{"term": {"collection": collection}}] if collection else []
    number, final = span
    while number < final:
        upto = {"range": {"_seq_no": {"gt": number, "lte": final}}}
        body |= {"query": {"bool": {"filter": [upto, *own]}}}
        answer = server.request("POST", f"/{quoted(index)}/_search", body, params=params)
        hits = answer["hits"]["hits"]
        for hit in hits:
            number = int(hit["sort"][0])
            yield capture_from_entry(hit["_source"]), number
        if len(hits) < _PAGE:
            return


def _end(server: Server, index: str, known: str = "") -> _Mark:
    """Return up to which number all is written on each shard; `known` is an earlier end.

    Raises EngineUnavailableError while shards are missing, as when a server
    starts: a mark of the others would be one that is not known.
    """
    answer = server.request(
        "GET",
        f"/{quoted(index)}/_stats",
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
    if not uuid or not (of_same or len(numbers) >= _shards(server, index)):
        raise EngineUnavailableError(f"{server.place} lacks shards of {index}; see how it does")
    return _Mark(uuid, tuple(numbers[shard] for shard in sorted(numbers)))


def _shards(server: Server, index: str) -> int:
    """Return how many shards an index has."""
    (found,) = server.request(
        "GET",
        f"/{quoted(index)}/_settings/index.number_of_shards",
    ).values()
    return int(found["settings"]["index"]["number_of_shards"])


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
