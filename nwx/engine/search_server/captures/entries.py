"""Captures as entries of a server's index, which has their values in columns and no `_source`."""

import base64
import json
from collections.abc import Collection, Iterable, Sequence
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
PLACE_ORDER = ("source_file", "source_file_offset", "collection")
"""The fields of a record's place, an order without ties."""

CDX_ORDER = ("urlkey", "timestamp", *PLACE_ORDER)

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


def ascending(order: Iterable[str]) -> list[Body]:
    """Return the sort by these fields."""
    return [{name: "asc"} for name in order]


def read_fields(
    server: Server, fields: Collection[str] = VALUE_FIELDS, order: Sequence[str] = ()
) -> Body:
    """Return the part of a search body that asks for fields of captures, and for their places.

    Values of the fields that the search sorts by (`order`) come with each hit in any case. Nothing
    stored is asked for: a block of it would be unpacked for each hit.
    """
    wanted = {*fields, *PLACE_ORDER, WHOLE, server.ignored_field}.difference(order)
    return {"stored_fields": "_none_", "docvalue_fields": sorted(wanted)}


def fields_of(
    server: Server, index: str, hits: Sequence[Body], order: Sequence[str] = ()
) -> list[IndexEntry]:
    """Return the fields that a search with `read_fields` found; unset ones are None or missing.

    Captures with values too long for columns have all fields.
    """
    found = [
        dict(zip(order, hit.get("sort", ()), strict=False)) | _fields(hit.get("fields", {}))
        for hit in hits
    ]
    # An index that an older nwx made has all values in `_source`.
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
        # OpenSearch gives the form for URLs, without padding.
        text = columns[WHOLE][0].translate(_USUAL_BASE64)
        whole: IndexEntry = json.loads(base64.b64decode(f"{text}=="))
        return whole
    return {name: values[0] for name, values in columns.items()}


_USUAL_BASE64 = str.maketrans("-_", "+/")


def captures_of(
    server: Server, index: str, hits: Sequence[Body], order: Sequence[str] = ()
) -> list[Capture]:
    """Return the captures that a search with `read_fields` of all fields found."""
    return [
        capture_of_values(tuple([entry.get(name, default) for name, default in _UNSET.items()]))
        for entry in fields_of(server, index, hits, order)
    ]
