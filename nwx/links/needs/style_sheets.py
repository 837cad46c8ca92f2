"""The style sheets that pages load, whose links are links of these pages."""

from bisect import bisect_left

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.table import SELF, InlinkTable
from nwx.links.link_frames import targets_of_links
from nwx.values.link_kinds import STYLESHEET

_MOST_DEPTH = 5
_MOST_HELD = 20_000_000


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
        self._held = 0
        self._importers: dict[int, list[int]] = {}

    def pages(self, sheet: int) -> Array:
        """Return the sources of the pages that load a style sheet, through others too."""
        if sheet not in self._pages:
            found = self._found(sheet)
            self._held += len(found)
            if self._held > _MOST_HELD:
                self._pages.clear()
                self._held = len(found)
            self._pages[sheet] = found
        return self._pages[sheet]

    def _found(self, sheet: int) -> Array:
        """Return pages by going up from a style sheet to those that import it, each once."""
        seen, level = {sheet}, {sheet}
        pages = [self._direct(sheet)]
        for _ in range(_MOST_DEPTH):
            level = {each for one in level for each in self._importing(one)} - seen
            seen |= level
            pages += map(self._direct, level)
        return np.unique(np.concatenate(pages))

    def _direct(self, sheet: int) -> Array:
        """Return the pages that load a style sheet themselves."""
        loaders = self._loaders[sheet]
        by = self._sources[loaders].astype(np.int64)
        return by[~np.isin(by, self.sources) & self.documents[loaders]]

    def _importing(self, sheet: int) -> list[int]:
        """Return the style sheets that import one."""
        if sheet not in self._importers:
            by = np.unique(self._sources[self._loaders[sheet]].astype(np.int64))
            self._importers[sheet] = by[np.isin(by, self.sources)].tolist()
        return self._importers[sheet]

    def pages_of(self, sources: Array) -> Array:
        """Return the sources of the pages that link themselves, or load what does."""
        nested = np.isin(sources, self.sources)
        through = map(self.pages, np.unique(sources[nested]).tolist())
        return np.unique(np.concatenate([sources[~nested], *through]))
