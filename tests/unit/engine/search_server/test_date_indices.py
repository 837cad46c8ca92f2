"""Rebuilt dates indices: an index that has replaced the old one meanwhile stays."""

import pytest

from nwx.engine.search_server import server as server_module
from nwx.engine.search_server.date_indices import building
from nwx.engine.search_server.schema import Schema
from nwx.errors import EngineUnavailableError
from nwx.settings import ServerSettings
from tests.unit.engine.search_server.fake_server import Reply, serving

NEW = "/nwx-dates%40one-000001"


@pytest.mark.parametrize(("alias", "deleted"), [("", True), ("nwx-dates@one", False)])
def test_a_swap_without_an_answer_deletes_no_index_in_use(
    monkeypatch: pytest.MonkeyPatch, alias: str, deleted: bool
) -> None:
    monkeypatch.setattr(server_module.time, "sleep", lambda seconds: None)

    def answer(_: int, path: str, body: bytes) -> Reply:
        if path == "/_aliases":
            return 504, b"gateway"
        if path.startswith(f"{NEW}?"):
            return 200, {"nwx-dates@one-000001": {"aliases": {alias: {}} if alias else {}}}
        return 200, {"_shards": {"total": 1, "successful": 1}} if "_refresh" in path else {}

    with serving(answer) as (fake, server):
        schema = Schema(server, ServerSettings())
        with (
            pytest.raises(EngineUnavailableError),
            building(server, schema, "nwx-dates@one"),
        ):
            pass
        asked = [path for path, *_ in fake.requests]
    assert asked.count(NEW) == 1 + deleted, "it is made, and deleted where nothing names it"
