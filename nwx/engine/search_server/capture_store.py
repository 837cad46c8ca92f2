"""Captures on a search server: written and deleted as entries without `_source`, read in order."""

import base64
import json
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

import msgspec

from nwx.captures import VALUE_FIELDS, CaptureTuple, capture_of_values, values_of
from nwx.engine.entries import IndexEntry, capture_entry, dated
from nwx.engine.search_server.pages import entries_by_id, pages
from nwx.engine.search_server.schema import TOO_LONG, WHOLE, longest_values
from nwx.engine.search_server.server import Body, Server, quoted, to_json
from nwx.engine.search_server.writes import BulkAction, refresh, send, send_lines
from nwx.errors import EngineError, EngineUnavailableError, StaleMarkError
from nwx.keys import capture_id
from nwx.model import Capture

_UNSET: IndexEntry = (
    dict.fromkeys(VALUE_FIELDS, "")
    | dict.fromkeys(("source_file_offset", "record_length", "status_code", "content_length"))
    | {"method": "GET"}
)
_OWN: IndexEntry = {"crawl_date": "", "crawl_year": None, TOO_LONG: None, WHOLE: ""}
PLACE_ORDER = ("source_file", "source_file_offset", "collection")
"""The fields of a record's place, which together are a sort order without ties."""

CDX_ORDER = ("urlkey", "timestamp", *PLACE_ORDER)

_TIMESTAMP = VALUE_FIELDS.index("timestamp")

_StoredCapture = msgspec.defstruct(
    "_StoredCapture",
    [(name, Any, default) for name, default in (_UNSET | _OWN).items()],
    omit_defaults=True,
)
"""A stored entry; fields with their default values are not sent."""


def capture_action(
    server: Server, index: str, row: CaptureTuple, operation: str = "create"
) -> BulkAction:
    """Return the action that writes a capture, given its values in the order of VALUE_FIELDS.

    If a value is too long for columns, all values are also stored in the field WHOLE. Raises
    EngineError on a collection with a slash: ids of its captures might not be unique.
    """
    collection, source_file, offset = row[:3]
    if "/" in collection:
        raise EngineError(f"{collection!r} is not a valid collection name: it has a slash")
    entry = _StoredCapture(*row, **dated(row[_TIMESTAMP]))
    if names := _too_long(row):
        setattr(entry, WHOLE, base64.b64encode(to_json(entry)).decode())
        if server.ignored_field == TOO_LONG:
            setattr(entry, TOO_LONG, names)
    return BulkAction(index, capture_id(collection, source_file, offset), entry, operation)


def _too_long(row: CaptureTuple) -> list[str]:
    """Return the names of the fields with values too long to be indexed."""
    found = [one for one in _limits() if one[0] < len(row) and 2 * len(row[one[0]]) > one[1]]
    return [VALUE_FIELDS[place] for place, most in found if _characters(row[place]) > most]


def _characters(value: str) -> int:
    """Return the length in Java characters (UTF-16 code units)."""
    return len(value.encode("utf-16-le", "surrogatepass")) // 2


@cache
def _limits() -> list[tuple[int, int]]:
    return [(VALUE_FIELDS.index(name), most) for name, most in longest_values().items()]


def ascending(order: Iterable[str]) -> list[Body]:
    """Return the ascending sort by these fields."""
    return [{name: "asc"} for name in order]


def read_fields(
    server: Server, fields: Collection[str] = VALUE_FIELDS, order: Sequence[str] = ()
) -> Body:
    """Return the part of a search body that requests fields of captures, and their places.

    Fields in `order`, by which the search sorts, are left out: each hit has their values anyway.
    Stored fields are not requested: a block of them would be decompressed for each hit.
    """
    wanted = {*fields, *PLACE_ORDER, WHOLE, server.ignored_field}.difference(order)
    return {"stored_fields": "_none_", "docvalue_fields": sorted(wanted)}


def fields_of(
    server: Server, index: str, hits: Sequence[Body], order: Sequence[str] = ()
) -> list[IndexEntry]:
    """Return the fields of the hits of a search with `read_fields`; unset ones are None or missing.

    Captures with values too long for columns have all fields.
    """
    found = [
        dict(zip(order, hit.get("sort", ()), strict=False)) | _fields(hit.get("fields", {}))
        for hit in hits
    ]
    # An index made by an older nwx has all values in `_source`.
    older = {
        capture_id(entry["collection"], entry["source_file"], entry["source_file_offset"]): place
        for place, entry in enumerate(found)
        if server.ignored_field in entry
    }
    for id, entry in entries_by_id(server, index, list(older), "true").items():
        found[older[id]] = entry.get("_source", found[older[id]])
    return found


def _fields(columns: dict[str, list[Any]]) -> IndexEntry:
    if WHOLE in columns:
        # OpenSearch returns URL-safe base64, without padding.
        text = columns[WHOLE][0].translate(_USUAL_BASE64)
        whole: IndexEntry = json.loads(base64.b64decode(f"{text}=="))
        return whole
    return {name: values[0] for name, values in columns.items()}


_USUAL_BASE64 = str.maketrans("-_", "+/")


def captures_of(
    server: Server, index: str, hits: Sequence[Body], order: Sequence[str] = ()
) -> list[Capture]:
    """Return the captures of the hits of a search with `read_fields` for all fields."""
    return [
        capture_of_values(tuple([entry.get(name, default) for name, default in _UNSET.items()]))
        for entry in fields_of(server, index, hits, order)
    ]


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
    """Adds, deletes and lists the captures of a server, also in the order they were stored."""

    def __init__(self, server: Server, index: str) -> None:
        self._server = server
        self._index = index

    def add(self, captures: Iterable[Capture]) -> int:
        """Add captures; return the number of new ones. Captures already stored stay unchanged."""
        return self._created(action.lines() for action in self._actions(captures))

    def load(self, batches: Iterable[Sequence[Capture]]) -> int:
        """Add captures and make them visible; return the number of new ones."""
        with tempfile.TemporaryFile(prefix="nwx-load-") as spool:
            # All are read first, as input from outside may be invalid near its end.
            for batch in batches:
                spool.writelines(action.lines() for action in self._actions(batch))
            spool.seek(0)
            new = self._created(head + next(spool) for head in spool)
        refresh(self._server, self._index)
        return new

    def unload(self, ids: Iterable[str]) -> int:
        """Delete captures; return the number that existed."""
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
        """Stream the entries of all captures, ordered by collection, file and offset."""
        order = (PLACE_ORDER[-1], *PLACE_ORDER[:-1])
        body: Body = {"query": {"match_all": {}}} | read_fields(self._server, order=order)
        for page in pages(self._server, self._index, body, ascending(order)):
            yield from map(capture_entry, captures_of(self._server, self._index, page, order))

    def mark(self, known: str = "") -> str:
        """Return the mark after all written captures, and make them visible to searches.

        If the mark is still `known`, they are already visible.
        """
        end = self._end(known)
        text = end.text()
        if text != known:
            refresh(self._server, self._index)
        return text

    def since(
        self, mark: str, until: str = "", collection: str = ""
    ) -> Iterator[tuple[Capture, str]]:
        """Stream captures as for `CaptureIndex.captures_since`, shard by shard."""
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
        """Return the number up to which each shard is fully written; `known` is an earlier end.

        Raises EngineUnavailableError while shards are missing, as when a server starts: a mark of
        only the other shards would not match any known mark.
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
                f"{self._server.place} lacks shards of {self._index}; check its health"
            )
        return _Mark(uuid, tuple(numbers[shard] for shard in sorted(numbers)))

    def _shards(self) -> int:
        """Return the number of shards of the index."""
        (found,) = self._server.request(
            "GET",
            f"/{quoted(self._index)}/_settings/index.number_of_shards",
        ).values()
        return int(found["settings"]["index"]["number_of_shards"])
