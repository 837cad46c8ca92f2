"""Indices of older versions, upgraded."""

import json
from typing import Any

import pytest

from nwx.engine.search_server import schema
from nwx.engine.search_server.schema import (
    SHARD_ENTRIES,
    allow_chunks,
    index_body,
    number_of_shards,
)
from nwx.model import IndexName
from nwx.settings import ServerSettings
from tests.unit.engine.search_server.fake_server import Reply, serving

FIELDS: dict[str, Any] = {"id": {}, "key": {}, "dates": {}, "seen": {}, "count": {}, "num": {}}


def added(fields: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the fields added to the mapping of a dates index with these fields."""
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


@pytest.mark.parametrize(
    ("captures", "shards"),
    [(0, 1), (10**6, 1), (10**8, 1), (10**9, 16), (10**10, 128)],
)
def test_captures_get_shards_for_their_expected_number(captures: int, shards: int) -> None:
    settings = ServerSettings(expected_captures=captures)
    assert number_of_shards(IndexName.CAPTURES, settings) == shards
    assert captures / shards <= SHARD_ENTRIES
    body = index_body(IndexName.CAPTURES, settings)
    assert body["settings"]["index"]["number_of_shards"] == shards


def test_other_indices_grow_with_them_or_stay_small() -> None:
    settings = ServerSettings(expected_captures=10**9)
    assert number_of_shards(IndexName.DOCUMENTS, settings) == 128
    assert number_of_shards(IndexName.FILES, settings) == 1
    assert number_of_shards(IndexName.ACCESS, settings) == 1


def test_shards_that_are_asked_for_are_the_least() -> None:
    settings = ServerSettings(shards=3, expected_captures=10**6)
    assert number_of_shards(IndexName.CAPTURES, settings) == 3


def test_numbers_of_a_page_can_be_named_in_one_query() -> None:
    assert schema.SHORT_LIST < schema.PAGE < schema.MAX_IDS
    assert schema.PAGE <= 10_000  # index.max_result_window
    assert schema.MAX_IDS < 65_536  # index.max_terms_count
