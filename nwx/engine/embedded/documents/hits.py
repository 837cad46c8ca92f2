"""The hits of a page: documents read by number, with snippets."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from nwx.engine.document_index import current_work
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.columns import DocumentColumns
from nwx.engine.embedded.documents.groups import Folds
from nwx.engine.embedded.documents.order import OrderedHits
from nwx.engine.embedded.documents.plan import SearchPlan
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.engine.embedded.linked_search import NO_LINKS, HitLinks
from nwx.engine.entries import IndexEntry, hit_from_entry
from nwx.engine.indices.vector_index import FoundPassage, ShownPassage
from nwx.engine.snippets import Highlighter, Piece
from nwx.model import Hit


def read_hits(
    view: ArchiveView,
    plan: SearchPlan,
    page: Sequence[OrderedHits],
    nums: Ints,
    folds: Folds | None,
    passages: Mapping[int, FoundPassage] = MappingProxyType({}),
    parts: Mapping[int, HitLinks] = MappingProxyType({}),
) -> tuple[Hit, ...]:
    """Return the hits of a page; hits found by passages have these as snippets.

    `parts` has the score components and anchor texts of hits, by number.
    """
    hits = []
    unplaced = [one.num for one in page if one.address is None]
    addresses = tantivy_index.addresses(view.searcher, unplaced)
    versions = {} if folds is None else folds.versions([one.num for one in page], nums)
    highlighter = Highlighter(plan.tree) if plan.question.snippets else None
    work = current_work()
    for one in page:
        work.check()
        address = one.address or addresses.get(one.num)
        if address is None:
            continue  # just deleted
        document = view.searcher.doc(address)
        head = tantivy_index.head_of(document)
        snippet: tuple[Piece, ...] = ()
        if highlighter is not None:
            text = tantivy_index.content_of(document) or head.get("description", "")
            near = passages.get(one.num)
            snippet = (ShownPassage(near) if near else highlighter).snippet(text)
        count, links = versions.get(one.num, 1), parts.get(one.num, NO_LINKS)
        hits.append(hit_of(view.columns, one, head, count, snippet, links))
    return tuple(hits)


def hit_of(
    columns: DocumentColumns,
    listed: OrderedHits,
    head: IndexEntry,
    versions: int = 1,
    snippet: tuple[Piece, ...] = (),
    links: HitLinks = NO_LINKS,
) -> Hit:
    """Return the hit for a listed document, from its head and columns."""
    dates, collections = columns.dates(listed.num)
    shown = listed.score, snippet, versions, links.score_parts, links.found_by
    return hit_from_entry(head, dates, collections, *shown)
