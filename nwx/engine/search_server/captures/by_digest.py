"""Captures by their digest."""

from collections.abc import Iterator

from nwx.engine.entries import capture_from_entry
from nwx.engine.search_server.captures.ranges import LONGEST
from nwx.engine.search_server.pages import pages
from nwx.engine.search_server.server import Body, Server
from nwx.model import Capture

_FIRST_PAGE = 20
_SORT = [
    {"timestamp": "desc"},
    {"source_file": "asc"},
    {"source_file_offset": "asc"},
    {"id": "asc"},
]


def captures_by_digest(server: Server, index: str, digest: str, urlkey: str) -> Iterator[Capture]:
    """Stream captures as `Engine.captures_by_digest` does.

    Whoever asks mostly takes the first, so that pages are small.
    """
    terms = [{"term": {"digest": digest}}]
    if urlkey and len(urlkey) <= LONGEST:
        terms.append({"term": {"urlkey": urlkey}})
    query: Body = {
        "bool": {
            "filter": terms,
            "must_not": [{"term": {"record_type": "revisit"}}],
        }
    }
    for page in pages(server, index, {"query": query}, _SORT, _FIRST_PAGE):
        for capture in (capture_from_entry(hit["_source"]) for hit in page):
            if urlkey in ("", capture.urlkey):
                yield capture
