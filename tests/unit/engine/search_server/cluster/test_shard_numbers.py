"""Shards of new indices, from the captures that are expected."""

import pytest

from nwx.engine.search_server.cluster.shard_numbers import SHARD_ENTRIES, number_of_shards
from nwx.engine.search_server.schema import index_body
from nwx.model import IndexName
from nwx.settings import ServerSettings


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
