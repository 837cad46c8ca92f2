"""Copies that a purge cannot reach."""

from nwx.engine.search_server.purger import with_copies_away
from tests.unit.engine.search_server.fake_server import Reply, serving


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
