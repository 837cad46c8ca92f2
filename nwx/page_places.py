"""The places of pages: which document a page is, and where its record lies."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nwx.keys import makes_document
from nwx.model import Capture

_PAGE_TYPE = "html"
_SUCCESS = range(200, 300)


class PagePlace(NamedTuple):
    """An HTML document, and the place of the record that it was made from.

    `source_file` is a name as in `Capture`. `hops` is Heritrix's path from
    the seed, one letter a hop, "" where it is not recorded.
    """

    document_id: str
    url: str
    timestamp: str
    collection: str
    source_file: str
    offset: int
    hops: str = ""


def is_page(capture: Capture) -> bool:
    """Tell whether a capture holds an HTML page that was served with success."""
    return (
        capture.content_type_norm == _PAGE_TYPE
        and (capture.status_code is None or capture.status_code in _SUCCESS)
        and makes_document(capture)
    )


def page_places(captures: Iterable[Capture]) -> Iterator[PagePlace]:
    """Yield the places of those captures that hold pages, in their order."""
    return (
        PagePlace(
            capture.document_id,
            capture.url,
            capture.timestamp,
            capture.collection,
            capture.source_file,
            capture.source_file_offset,
            capture.hops,
        )
        for capture in captures
        if is_page(capture)
    )
