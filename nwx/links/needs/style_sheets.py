"""The style sheets that pages load, whose links are links of these pages."""

from bisect import bisect_left

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.table import SELF, InlinkTable
from nwx.links.link_frames import targets_of_links
from nwx.values.link_kinds import STYLESHEET

_MOST_DEPTH = 5


class SourceNumbers:
    """The numbers of linking URLs by their urlkeys; later builds add theirs behind the others."""

    def __init__(self, table: InlinkTable) -> None:
        self._texts = table.sources
        self._order: list[int] = np.argsort(table.documents["source_rank"]).tolist()

    def find(self, key: str) -> int | None:
        """Return the number of a linking URL, None where it is none."""
        place = bisect_left(self._order, key.encode(), key=self._encoded)
        if place < len(self._order) and self._texts[self._order[place]] == key:
            return self._order[place]
        return None

    def _encoded(self, number: int) -> bytes:
        return self._texts[number].encode("utf-8", "surrogatepass")


class StyleSheets:
    """The style sheets among the linking documents, and the pages that load each."""

    def __init__(self, table: InlinkTable, documents: Array) -> None:
        self._table = table
        self.documents = documents
        numbers = SourceNumbers(table)
        sources = table.documents["source"]
        self._loaders: dict[int, Array] = {}
        style = [code for code, name in enumerate(table.notes.kinds) if name == STYLESHEET]
        for number in range(len(table.notes.ranges)):
            found = table.range(number)
            arrays = found.arrays
            links = np.flatnonzero(np.isin(arrays["kind"], style) & (arrays["flags"] & SELF == 0))
            targets, begins = np.unique(targets_of_links(found)[links], return_index=True)
            of_targets = np.split(arrays["document"][links], begins[1:])
            for place, loaders in zip(targets.tolist(), of_targets, strict=False):
                source = numbers.find(found.keys[place])
                if source is not None:
                    self._loaders[source] = loaders
        self.sources = np.array(sorted(self._loaders), dtype=np.int64)
        self._sources = sources
        self._pages: dict[int, Array] = {}

    def pages(self, sheet: int) -> Array:
        """Return the sources of the pages that load a style sheet, through others too."""
        if sheet not in self._pages:
            self._pages[sheet] = self._found(sheet, frozenset(), _MOST_DEPTH)
        return self._pages[sheet]

    def _found(self, sheet: int, above: frozenset[int], depth: int) -> Array:
        loaders = self._loaders[sheet]
        by = self._sources[loaders].astype(np.int64)
        nested = np.isin(by, self.sources)
        direct = by[~nested & self.documents[loaders]]
        deeper = [
            self._found(one, above | {sheet}, depth - 1)
            for one in np.unique(by[nested]).tolist()
            if depth and one not in above and one != sheet
        ]
        return np.unique(np.concatenate([direct, *deeper]))

    def pages_of(self, sources: Array) -> Array:
        """Return the sources of the pages that link themselves, or load what does."""
        nested = np.isin(sources, self.sources)
        through = map(self.pages, np.unique(sources[nested]).tolist())
        return np.unique(np.concatenate([sources[~nested], *through]))
