"""What captured pages need and the archive lacks: linked URLs without a capture that succeeded."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.base import Engine
from nwx.engine.inlinks.inlink_index import ID_BYTES
from nwx.engine.inlinks.table import InlinkTable
from nwx.errors import UrlError
from nwx.links.archive_links import ArchiveLinks
from nwx.links.needs.needed_urls import NeededUrls, needed_urls
from nwx.links.needs.page_filter import PageFilter
from nwx.values.link_kinds import EMBEDDED, NAVIGATIONAL
from nwx.values.urlkeys import urlkey

LOWEST_ERROR = 400
"""Captures with this status or a higher one are errors."""

KIND_GROUPS = {"embedded": EMBEDDED, "pages": NAVIGATIONAL}
"""Names for several kinds: what a browser loads with a page, and pages that are linked."""

_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class MissingQuestion:
    """Which missing URLs are asked for.

    `kinds` are those of links that count. `pages` says which linking pages
    count, `site` of which host (with those below it) the missing URLs are;
    "" is any.
    """

    kinds: frozenset[str] = EMBEDDED | NAVIGATIONAL
    pages: PageFilter = field(default_factory=PageFilter)
    site: str = ""


@dataclass(frozen=True, slots=True)
class MissingUrl:
    """A URL that pages need, as one of them spells it.

    `kind` is that of most links to it, `pages` the number of pages that
    link to it or load a style sheet that does. `status` is the lowest of its
    captures, None where it was never captured.
    """

    url: str
    kind: str
    pages: int
    status: int | None


def missing_urls(
    engine: Engine, links: ArchiveLinks, question: MissingQuestion
) -> Iterator[MissingUrl]:
    """Stream the missing URLs, those that most pages need first, ties by urlkey.

    A URL is missing where none of its captures, whatever their collection
    and date, has a status below LOWEST_ERROR.
    """
    documents = question.pages.of(engine, links.table)
    needed = needed_urls(links.table, question.kinds, documents, question.site)
    for begin in range(0, len(needed), _AT_ONCE):
        some = needed.only(slice(begin, begin + _AT_ONCE))
        keys = some.keys()
        statuses = engine.statuses(keys)
        lacking = [statuses.get(key, LOWEST_ERROR) >= LOWEST_ERROR for key in keys]
        yield from _described(engine, some.only(np.array(lacking, dtype=bool)), statuses)


def _described(
    engine: Engine, needed: NeededUrls, statuses: Mapping[str, int]
) -> Iterator[MissingUrl]:
    keys = needed.keys()
    spelled = spellings(engine, needed.table, keys, needed.document)
    kinds = needed.table.notes.kinds
    for key, kind, pages in zip(keys, needed.kind.tolist(), needed.pages.tolist(), strict=True):
        # Where a document is gone since links were inverted, its links are missed by nobody.
        if url := spelled.get(key):
            yield MissingUrl(url, kinds[kind], pages, statuses.get(key))


def spellings(
    engine: Engine, table: InlinkTable, keys: Sequence[str], documents: Array
) -> dict[str, str]:
    """Return the URLs of urlkeys as documents, given by their numbers, spell them."""
    ids = table.documents["id"]
    numbers = np.unique(documents).tolist()
    wanted = set(keys)
    found: dict[str, str] = {}
    stored = [ids[number * ID_BYTES : (number + 1) * ID_BYTES].tobytes() for number in numbers]
    for document in engine.inlink_index().linking_documents(stored):
        for url in document.links:
            try:
                key = urlkey(url)
            except UrlError:
                continue
            if key in wanted:
                found[key] = min(found.get(key, url), url)
    return found
