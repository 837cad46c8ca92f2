"""The captures of some urlkeys that are nearest to a moment."""

from collections.abc import Iterator, Sequence

from nwx.engine.entries import capture_from_entry
from nwx.engine.search_server.captures.ranges import LONGEST
from nwx.engine.search_server.pages import search_page, search_pages
from nwx.engine.search_server.server import Body, Server
from nwx.engine.spans import KeysAtTime, nearest_captures
from nwx.model import Capture


def near_captures(
    server: Server, index: str, asked: Sequence[KeysAtTime], most: int
) -> list[list[Capture]]:
    """Return captures, as `Engine.captures_near` does, by one request."""
    found = search_pages(server, index, [side for one in asked for side in _sides(one, most)])
    sides = zip(asked, found[::2], found[1::2], strict=True)
    return [
        nearest_captures(map(capture_from_entry, (*later, *earlier)), one.timestamp, most)
        for one, later, earlier in sides
    ]


def _sides(asked: KeysAtTime, most: int) -> Iterator[Body]:
    """Yield the searches for the captures at and after the moment, and for those before it.

    `distance_feature` would do with one, but does not give all of the nearest.
    """
    keys = {"terms": {"urlkey": [key for key in asked.urlkeys if len(key) <= LONGEST]}}
    for side, order in (("gte", "asc"), ("lt", "desc")):
        moment = {"range": {"timestamp": {side: asked.timestamp}}}
        yield {
            "query": {"bool": {"filter": [keys, moment]}},
            "sort": [{"timestamp": order}],
            "size": most,
            "track_total_hits": False,
        }


def has_keys(server: Server, index: str, starts: Sequence[str]) -> bool:
    """Tell whether urlkeys begin so, as `Engine.has_keys` does."""
    if not starts:
        return False
    should = [{"prefix": {"urlkey": {"value": start}}} for start in starts]
    body: Body = {
        "query": {"bool": {"filter": [{"bool": {"should": should}}]}},
        "size": 0,
        "track_total_hits": 1,
        "terminate_after": 1,
    }
    return bool(search_page(server, index, body)["hits"]["total"]["value"])
