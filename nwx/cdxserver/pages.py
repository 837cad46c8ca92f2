"""Pages of an answer: stretches of the index between marks, so that each page costs the same."""

from collections.abc import Sequence
from dataclasses import replace

from nwx.cdxserver.query.dialects import Dialect
from nwx.cdxserver.query.model import CdxQuery, Paging
from nwx.cdxserver.selection import narrowed
from nwx.cdxserver.sources.merged import RowSource
from nwx.engine.capture_index import CdxSpan
from nwx.errors import CdxQueryError


def blocks_of(query: CdxQuery, source: RowSource) -> list[str]:
    """Return the places where the blocks of a question begin."""
    return list(source.marks(narrowed(query)))


def page_count(blocks: Sequence[str], paging: Paging) -> int:
    """Return the number of pages."""
    return -(-len(blocks) // paging.size)


def of_page(
    query: CdxQuery, paging: Paging, blocks: Sequence[str], dialect: Dialect
) -> CdxQuery | None:
    """Return the question for one page, None for one past the last where that is no error.

    Raises CdxQueryError in the dialect of pywb, as that does.
    """
    pages = page_count(blocks, paging)
    if paging.page >= pages:
        if dialect.pages_as_object and paging.page:
            raise CdxQueryError(
                f"page {paging.page} invalid: first page is 0, last page is {max(pages - 1, 0)}"
            )
        return None
    first, beyond = paging.page * paging.size, (paging.page + 1) * paging.size
    span = narrowed(query)
    start = blocks[first] if first else span.start
    end = blocks[beyond] if beyond < len(blocks) else span.end
    # Without its urlkey, as from that the whole span of the URL would be made anew.
    page = CdxSpan(start, end, collection=span.collection)
    return replace(query, span=page, urlkey="", paging=None)
