"""The pages that need linked URLs: what `needed_urls` counts, one by one."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.counts import is_new
from nwx.engine.inlinks.table import SELF, InlinkTable
from nwx.links.link_frames import targets_of_links
from nwx.links.needs.needed_urls import NeededUrls
from nwx.links.needs.style_sheets import StyleSheets

PAIRS_AT_ONCE = 4_000_000
"""A piece of pairs has about so many, or those of one URL."""

_NONE = -1
_HALF = np.uint64(32)


def needing_pages(
    needed: NeededUrls, kinds: Collection[str], documents: Array, at_once: int = PAIRS_AT_ONCE
) -> Iterator[tuple[Array, Array]]:
    """Yield the pages that need some URLs, as pairs: the place in `needed`, the page's source.

    `kinds` and `documents` are those that `needed_urls` was asked for. What a
    style sheet links to is needed by the pages that load it. All pairs of a
    URL are in one piece, each once.
    """
    table = needed.table
    codes = np.array([code for code, name in enumerate(table.notes.kinds) if name in kinds])
    sheets = StyleSheets(table, documents)
    for part in np.unique(needed.part).tolist():
        own = np.flatnonzero(needed.part == part)
        links = _links(table, part, needed, codes, sheets)
        # A style sheet of a million pages makes a million pairs of each of its links.
        pieces = np.cumsum(needed.pages[own]) // at_once
        for some in np.split(own, np.flatnonzero(is_new(pieces))[1:]):
            yield _pairs(links, int(some[0]), int(some[-1]), sheets)


class _Links(NamedTuple):
    """Links to needed URLs, as pairs of places in `needed` and sources, in the order of places.

    `nested` are those of style sheets, as columns.
    """

    place: Array
    source: Array
    nested: Array


def _links(
    table: InlinkTable, part: int, needed: NeededUrls, codes: Array, sheets: StyleSheets
) -> _Links:
    """Return the links to the needed URLs of a range."""
    found = table.range(part)
    arrays = found.arrays
    numbers = np.full(len(found.keys), _NONE, dtype=np.int64)
    own = np.flatnonzero(needed.part == part)
    numbers[needed.place[own]] = own
    number = numbers[targets_of_links(found)]
    source = table.documents["source"][arrays["document"]].astype(np.int64)
    of_sheet = np.isin(source, sheets.sources)
    counting = (number != _NONE) & np.isin(arrays["kind"], codes) & (arrays["flags"] & SELF == 0)
    direct = np.flatnonzero(counting & ~of_sheet & sheets.documents[arrays["document"]])
    direct = direct[np.argsort(number[direct], kind="stable")]
    nested = counting & of_sheet
    of_sheets = np.unique(np.stack([number[nested], source[nested]]), axis=1)
    return _Links(number[direct], source[direct], of_sheets)


def _pairs(links: _Links, first: int, last: int, sheets: StyleSheets) -> tuple[Array, Array]:
    """Return the pairs of the URLs from one place to another."""
    begin, end = np.searchsorted(links.place, [first, last + 1]).tolist()
    pairs = [(links.place[begin:end], links.source[begin:end])]
    begin, end = np.searchsorted(links.nested[0], [first, last + 1]).tolist()
    for one, sheet in links.nested[:, begin:end].T.tolist():
        pages = sheets.pages(sheet)
        pairs.append((np.full(len(pages), one, dtype=np.int64), pages))
    number, source = (np.concatenate(column) for column in zip(*pairs, strict=True))
    keys = number.astype(np.uint64) << _HALF | source.astype(np.uint64)
    keys.sort()
    keys = keys[is_new(keys)]
    return (keys >> _HALF).astype(np.int64), keys.astype(np.uint32).astype(np.int64)
