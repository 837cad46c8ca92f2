"""Indices of older versions, brought forward."""

import json
from typing import Any

from nwx.engine.search_server.schema import allow_chunks
from tests.unit.engine.search_server.fake_server import Reply, serving

FIELDS: dict[str, Any] = {"id": {}, "key": {}, "dates": {}, "seen": {}, "count": {}, "num": {}}


def added(fields: dict[str, Any]) -> list[dict[str, Any]]:
    """Return what is put into the mapping of a dates index with these fields."""
    meta = {"version": 1, "attached": {"old": "elsewhere"}}
    state = {"nwx-dates-000001": {"mappings": {"_meta": meta, "properties": fields}}}

    def answer(_: int, path: str, body: bytes) -> Reply:
        return 200, {} if body else state

    with serving(answer) as (fake, server):
        allow_chunks(server, "nwx-dates")
        return [json.loads(body) for _, _, body in fake.requests if body]


def test_a_dates_index_gets_the_fields_of_chunks_and_another_version() -> None:
    (mapping,) = added(FIELDS)
    assert {"chunk", "chunks"} <= set(mapping["properties"])
    assert not set(FIELDS) & set(mapping["properties"])
    assert mapping["_meta"] == {"version": 2, "attached": {"old": "elsewhere"}}


def test_one_that_has_them_stays_as_it_is() -> None:
    assert added({**FIELDS, "chunk": {}, "chunks": {}}) == []
