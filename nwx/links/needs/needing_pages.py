"""The pages that need linked URLs: what `needed_urls` counts, one by one."""

from collections.abc import Collection, Iterator

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.counts import is_new
from nwx.engine.inlinks.table import SELF, InlinkTable
from nwx.links.link_frames import targets_of_links
from nwx.links.needs.needed_urls import NeededUrls
from nwx.links.needs.style_sheets import StyleSheets

_NONE = -1
_HALF = np.uint64(32)


def needing_pages(
    needed: NeededUrls, kinds: Collection[str], documents: Array
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
        yield _of_range(table, part, needed, codes, sheets)


def _of_range(
    table: InlinkTable, part: int, needed: NeededUrls, codes: Array, sheets: StyleSheets
) -> tuple[Array, Array]:
    found = table.range(part)
    arrays = found.arrays
    numbers = np.full(len(found.keys), _NONE, dtype=np.int64)
    own = np.flatnonzero(needed.part == part)
    numbers[needed.place[own]] = own
    number = numbers[targets_of_links(found)]
    source = table.documents["source"][arrays["document"]].astype(np.int64)
    of_sheet = np.isin(source, sheets.sources)
    counting = (number != _NONE) & np.isin(arrays["kind"], codes) & (arrays["flags"] & SELF == 0)
    direct = counting & ~of_sheet & sheets.documents[arrays["document"]]
    pairs = [(number[direct], source[direct])]
    nested = counting & of_sheet
    for one, sheet in np.unique(np.stack([number[nested], source[nested]]), axis=1).T.tolist():
        pages = sheets.pages(sheet)
        pairs.append((np.full(len(pages), one, dtype=np.int64), pages))
    number, source = (np.concatenate(column) for column in zip(*pairs, strict=True))
    keys = number.astype(np.uint64) << _HALF | source.astype(np.uint64)
    keys.sort()
    keys = keys[is_new(keys)]
    return (keys >> _HALF).astype(np.int64), keys.astype(np.uint32).astype(np.int64)
