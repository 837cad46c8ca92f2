"""Captures by their digest."""

from collections.abc import Iterator

from nwx.engine.elastic.paging import pages
from nwx.engine.elastic.server import Body, Server
from nwx.engine.entries import capture_from_entry
from nwx.model import Capture

_FIRST_PAGE = 20
_SORT = [
    {"timestamp": "desc"},
    {"source_file": "asc"},
    {"source_file_offset": "asc"},
    {"id": "asc"},
]


def captures_by_digest(server: Server, index: str, digest: str) -> Iterator[Capture]:
    """Stream captures as `Engine.captures_by_digest` does.

    Whoever asks mostly takes the first, so that pages are small.
    """
    query: Body = {
        "bool": {
            "filter": [{"term": {"digest": digest}}],
            "must_not": [{"term": {"record_type": "revisit"}}],
        }
    }
    for page in pages(server, index, {"query": query}, _SORT, _FIRST_PAGE):
        for hit in page:
            yield capture_from_entry(hit["_source"])
