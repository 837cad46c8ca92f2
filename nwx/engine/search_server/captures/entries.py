"""Captures as entries of a server's index, which has their values in columns and no `_source`."""

import base64
import json
from collections.abc import Collection, Sequence
from functools import cache
from typing import Any

import msgspec

from nwx.captures import VALUE_FIELDS, CaptureTuple, capture_of_values
from nwx.engine.entries import IndexEntry, dated
from nwx.engine.search_server.bulk import BulkAction
from nwx.engine.search_server.pages import entries_by_id
from nwx.engine.search_server.schema import TOO_LONG, WHOLE, longest_values
from nwx.engine.search_server.server import Body, Server, to_json
from nwx.errors import EngineError
from nwx.keys import capture_id
from nwx.model import Capture

_UNSET: IndexEntry = (
    dict.fromkeys(VALUE_FIELDS, "")
    | dict.fromkeys(("source_file_offset", "record_length", "status_code", "content_length"))
    | {"method": "GET"}
)
_OWN: IndexEntry = {"crawl_date": "", "crawl_year": None, TOO_LONG: None, WHOLE: ""}
BY_PLACE = [{name: "asc"} for name in ("source_file", "source_file_offset", "collection")]
"""The order of captures by the places of their records."""

_TIMESTAMP = VALUE_FIELDS.index("timestamp")

_StoredCapture = msgspec.defstruct(
    "_StoredCapture",
    [(name, Any, default) for name, default in (_UNSET | _OWN).items()],
    omit_defaults=True,
)
"""An entry, of which the server gets what is set."""


def capture_action(
    server: Server, index: str, row: CaptureTuple, operation: str = "create"
) -> BulkAction:
    """Return the action that writes the capture of values in the order of VALUE_FIELDS.

    Values too long for columns are in the field WHOLE, with all others. Raises EngineError on a
    collection with a slash: its captures could have the ids of those of another.
    """
    collection, source_file, offset = row[:3]
    if "/" in collection:
        raise EngineError(f"{collection!r} is no name for a collection: it has a slash")
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
    """Return the number of Java characters (UTF-16 units)."""
    return len(value.encode("utf-16-le", "surrogatepass")) // 2


@cache
def _limits() -> list[tuple[int, int]]:
    return [(VALUE_FIELDS.index(name), most) for name, most in longest_values().items()]


def read_fields(fields: Collection[str] = VALUE_FIELDS) -> Body:
    """Return the part of a search body that asks for fields of captures."""
    wanted = [*fields, TOO_LONG]
    return {"_source": False, "stored_fields": [WHOLE], "docvalue_fields": wanted}


def fields_of(server: Server, index: str, hits: Sequence[Body]) -> list[IndexEntry]:
    """Return the fields that a search with `read_fields` found, without those that are unset.

    Captures with values too long for columns have all fields.
    """
    columns = [hit.get("fields", {}) for hit in hits]
    # An index that an older nwx made has all values in `_source`.
    older = {
        hit["_id"]: place
        for place, (hit, some) in enumerate(zip(hits, columns, strict=True))
        if WHOLE not in some and ("_ignored" in hit or TOO_LONG in some)
    }
    found = list(map(_fields, columns))
    for id, entry in entries_by_id(server, index, list(older), "true").items():
        found[older[id]] = entry.get("_source", found[older[id]])
    return found


def _fields(columns: dict[str, list[Any]]) -> IndexEntry:
    if WHOLE in columns:
        whole: IndexEntry = json.loads(base64.b64decode(columns[WHOLE][0]))
        return whole
    return {name: values[0] for name, values in columns.items()}


def captures_of(server: Server, index: str, hits: Sequence[Body]) -> list[Capture]:
    """Return the captures that a search with `read_fields()` found."""
    return [
        capture_of_values(tuple(entry.get(name, default) for name, default in _UNSET.items()))
        for entry in fields_of(server, index, hits)
    ]
