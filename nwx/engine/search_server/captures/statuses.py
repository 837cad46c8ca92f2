"""The lowest status of the captures of URLs."""

from collections.abc import Sequence

from nwx.engine.search_server.captures.ranges import LONGEST
from nwx.engine.search_server.pages import search_page
from nwx.engine.search_server.server import Body, Server

_AT_ONCE = 5_000


def lowest_statuses(server: Server, index: str, urlkeys: Sequence[str]) -> dict[str, int]:
    """Return the lowest status by urlkey, as `Engine.statuses` does."""
    found: dict[str, int] = {}
    keys = [key for key in urlkeys if len(key) <= LONGEST]
    for begin in range(0, len(keys), _AT_ONCE):
        some = keys[begin : begin + _AT_ONCE]
        lowest = {"min": {"field": "status_code", "missing": 0}}
        terms = {"field": "urlkey", "size": len(some), "include": some}
        body: Body = {
            "size": 0,
            "track_total_hits": False,
            "query": {"terms": {"urlkey": some}},
            "aggs": {"urlkeys": {"terms": terms, "aggs": {"lowest": lowest}}},
        }
        buckets = search_page(server, index, body)["aggregations"]["urlkeys"]["buckets"]
        found.update({one["key"]: int(one["lowest"]["value"]) for one in buckets})
    return found
