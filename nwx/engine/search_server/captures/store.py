"""Captures written to a search server, each once, and deleted."""

import json
import tempfile
from collections.abc import Iterable, Sequence
from itertools import islice

from nwx.engine.entries import IndexEntry, capture_entry
from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.cluster.copies import refresh
from nwx.engine.search_server.pages import entries_by_id
from nwx.engine.search_server.schema import TOO_LONG, own_of_capture
from nwx.engine.search_server.server import Server, to_lines
from nwx.errors import EngineError
from nwx.model import Capture

_AT_ONCE = 1_000
_PLACE = ("collection", "source_file", "source_file_offset")


def add_captures(server: Server, index: str, captures: Iterable[Capture]) -> int:
    """Add captures; return how many were new.

    Those that are there already stay as they are. Raises EngineError where
    the entry of another capture has the id of one of these.
    """
    remaining = map(capture_entry, captures)
    new = 0
    while entries := list(islice(remaining, _AT_ONCE)):
        new += _add_entries(server, index, entries)
    return new


def _add_entries(server: Server, index: str, entries: Sequence[IndexEntry]) -> int:
    if server.ignored_field == TOO_LONG:
        entries = list(map(own_of_capture, entries))
    actions = (BulkAction(index, entry["id"], entry, "create") for entry in entries)
    outcomes = send(server, actions)
    known = {
        entry["id"]: entry
        for entry, outcome in zip(entries, outcomes, strict=True)
        if outcome == "conflict"
    }
    found = entries_by_id(server, index, list(known), ",".join(_PLACE))
    for id, entry in known.items():
        if id in found:
            _check_same(entry, found[id]["_source"])
    return outcomes.count("created")


def _check_same(entry: IndexEntry, other: IndexEntry) -> None:
    if _place(entry) != _place(other):
        files = " and ".join(
            f"the file {one['source_file']!r} of the collection {one['collection']!r}"
            for one in (other, entry)
        )
        raise EngineError(
            f"two captures have the id {entry['id']!r}: {files}; "
            f"give the collection or the file another name"
        )


def _place(entry: IndexEntry) -> tuple[str, str, int]:
    collection, source_file, offset = map(entry.get, _PLACE)
    return str(collection), str(source_file), int(offset or 0)


def load_captures(server: Server, index: str, batches: Iterable[Sequence[Capture]]) -> int:
    """Add captures, visible when it returns; return how many were new."""
    with tempfile.TemporaryFile(prefix="nwx-load-") as spool:
        # All of it first: what comes from outside may turn out to be wrong at its end.
        for batch in batches:
            spool.write(to_lines(map(capture_entry, batch)))
        spool.seek(0)
        new = 0
        while lines := list(islice(spool, _AT_ONCE)):
            new += _add_entries(server, index, list(map(json.loads, lines)))
    _refresh(server, index)
    return new


def unload_captures(server: Server, index: str, ids: Iterable[str]) -> int:
    """Delete captures; return how many there were."""
    with tempfile.TemporaryFile(prefix="nwx-unload-") as spool:
        spool.writelines(f"{json.dumps(id)}\n".encode() for id in ids)
        spool.seek(0)
        deleted = 0
        while lines := list(islice(spool, _AT_ONCE)):
            actions = (BulkAction(index, json.loads(line), None, "delete") for line in lines)
            deleted += send(server, actions).count("deleted")
    _refresh(server, index)
    return deleted


def _refresh(server: Server, index: str) -> None:
    refresh(server, index)
