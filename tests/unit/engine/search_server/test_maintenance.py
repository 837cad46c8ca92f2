"""Health of the shards of an archive, and copies that a purge cannot reach."""

from typing import Any
from urllib.parse import unquote

from nwx.bulk.progress import no_progress
from nwx.engine.capabilities import accept
from nwx.engine.search_server.date_indices import ServerDatesIndices
from nwx.engine.search_server.maintenance import ServerShards, ServerSnapshots, with_copies_away
from nwx.engine.search_server.schema import Schema
from nwx.settings import ServerSettings
from tests.unit.engine.search_server.fake_server import Reply, serving

ALIASES = {
    "nwx-captures-000001": "nwx-captures",
    "nwx-dates-000001": "nwx-dates",
    "nwx-facets-files-000001": "nwx-facets-files",
    "nwx-loading-000001": "nwx-loading",
    "nwx-dates@old-000002": "nwx-dates@old",
    "other-dates": "other-dates",
}
LOST = {"nwx-loading-000001", "nwx-facets-files-000001", "other-dates"}


def answer(_: int, path: str, body: bytes) -> Reply:
    path = unquote(path).partition("?")[0]
    name = path.rpartition("/")[2]
    if path.startswith("/_cluster/health/"):
        return 200, {"indices": {name: health(lost=name in LOST)}}
    if path.endswith("/_mapping"):
        mapping = {"_meta": {"attached": {"theirs": "other-dates"}}}
        return 200, {"nwx-dates-000001": {"mappings": mapping}}
    if "_settings" in path:
        return 200, {}
    if path.startswith("/_alias/"):
        return 200, {"nwx-dates@old-000002": {"aliases": {"nwx-dates@old": {}}}}
    asked = path.removeprefix("/").split(",")
    return 200, {
        index: {"aliases": {alias: {}}, "mappings": {}}
        for index, alias in ALIASES.items()
        if alias in asked
    }


def health(*, lost: bool) -> dict[str, Any]:
    return {
        "unassigned_shards": int(lost),
        "initializing_shards": 0,
        "number_of_shards": 1,
        "number_of_replicas": 0,
        "shards": {"0": {"primary_active": not lost}},
    }


def test_lost_shards_of_all_indices_of_an_archive_are_found() -> None:
    settings = ServerSettings()
    with serving(answer) as (_, server):
        schema = Schema(server, settings)
        dates = ServerDatesIndices(server, schema)
        found = ServerShards(server, schema, dates, settings).health()
    assert {name: one.name for name, one in found.items()} == {
        "dates": "nwx-dates-000001",
        "captures": "nwx-captures-000001",
        "facets-files": "nwx-facets-files-000001",
        "loading": "nwx-loading-000001",
        "dates@old": "nwx-dates@old-000002",
        "dates@theirs": "other-dates",
    }
    lost = {name for name, one in found.items() if one.lost == (0,)}
    assert lost == {"facets-files", "loading", "dates@theirs"}


def test_copies_of_nodes_that_left_are_named_and_those_that_never_were_are_not() -> None:
    def copies(*reasons: str) -> dict[str, object]:
        found = [{"state": "UNASSIGNED", "unassigned_info": {"reason": one}} for one in reasons]
        return {"shards": {"0": [{"state": "STARTED"}], "1": [{"state": "STARTED"}, *found]}}

    def answer(_: int, path: str, body: bytes) -> Reply:
        assert path.startswith("/_cluster/state/routing_table/a,b,c?")
        indices = {
            "a-000001": copies("NODE_LEFT"),
            "b-000001": copies("INDEX_CREATED", "REPLICA_ADDED"),
            "c-000002": copies("INDEX_CREATED", "NODE_RESTARTING"),
        }
        return 200, {"routing_table": {"indices": indices}}

    with serving(answer) as (_, server):
        assert with_copies_away(server, "abc") == ("a-000001", "c-000002")


def test_a_restore_waits_for_its_own_indices() -> None:
    """Not for those of an archive with the prefix `nwx-two`, which may be active."""

    def answer(_: int, path: str, body: bytes) -> Reply:
        part = path[-1]
        found = {"snapshot": part, "state": "SUCCESS", "indices": [f"nwx-{part}", f"nwx-x{part}"]}
        shards = {"active_primary_shards": 8, "initializing_shards": 0}
        snapshots = [found | {"shards": {"total": 2}}]
        return 200, shards | {"snapshots": snapshots} if "/_" in path else {}

    settings = ServerSettings()
    with serving(answer) as (fake, server):
        schema = Schema(server, settings)
        shards = ServerShards(server, schema, ServerDatesIndices(server, schema), settings)
        backups = ServerSnapshots(server, shards, settings.prefix, "nightly")
        backups.restore("20261123-020000-417", accept, no_progress, replaced=False)
        paths = [unquote(path).partition("?")[0] for path, *_ in fake.requests]
    health = {path for path in paths if path.startswith("/_cluster/health/")}
    assert health == {"/_cluster/health/nwx-0,nwx-x0,nwx-1,nwx-x1,nwx-2,nwx-x2,nwx-3,nwx-x3"}
