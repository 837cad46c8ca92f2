"""Linked URLs by the number of pages that need them, directly or through style sheets."""

from bisect import bisect_left
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array, is_new
from nwx.engine.inlinks.table import SELF, InlinkTable, TargetRange
from nwx.values.urls import STYLESHEET, head_of_host, host_of_site

_MOST_DEPTH = 5
_MOST_HELD = 20_000_000


class SourceNumbers:
    """Look-up of the numbers of linking URLs by urlkey; later builds append numbers."""

    def __init__(self, table: InlinkTable) -> None:
        self._texts = table.sources
        self._order: list[int] = np.argsort(table.documents["source_rank"]).tolist()

    def find(self, key: str) -> int | None:
        """Return the number of a linking URL, None if it links nowhere."""
        place = bisect_left(self._order, key.encode(), key=self._encoded)
        if place < len(self._order) and self._texts[self._order[place]] == key:
            return self._order[place]
        return None

    def _encoded(self, number: int) -> bytes:
        return self._texts[number].encode("utf-8", "surrogatepass")


class StyleSheets:
    """The style sheets among the linking documents, and the pages that load each."""

    def __init__(self, table: InlinkTable, documents: Array) -> None:
        self.documents = documents
        numbers = SourceNumbers(table)
        sources = table.documents["source"]
        self._loaders: dict[int, Array] = {}
        style = [code for code, name in enumerate(table.notes.kinds) if name == STYLESHEET]
        for number in range(len(table.notes.ranges)):
            found = table.range(number)
            arrays = found.arrays
            links = np.flatnonzero(np.isin(arrays["kind"], style) & (arrays["flags"] & SELF == 0))
            targets, begins = np.unique(found.targets()[links], return_index=True)
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
        """Return the sources of the pages that load a style sheet, directly or by imports."""
        if sheet not in self._pages:
            found = self._found(sheet)
            self._held += len(found)
            if self._held > _MOST_HELD:
                self._pages.clear()
                self._held = len(found)
            self._pages[sheet] = found
        return self._pages[sheet]

    def _found(self, sheet: int) -> Array:
        """Return the distinct pages that load a style sheet, directly or by imports."""
        seen, level = {sheet}, {sheet}
        pages = [self._direct(sheet)]
        for _ in range(_MOST_DEPTH):
            level = {each for one in level for each in self._importing(one)} - seen
            seen |= level
            pages += map(self._direct, level)
        return np.unique(np.concatenate(pages))

    def _direct(self, sheet: int) -> Array:
        """Return the pages that load a style sheet directly."""
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
        """Return the sources of pages among `sources`, or loading a style sheet among them."""
        nested = np.isin(sources, self.sources)
        through = map(self.pages, np.unique(sources[nested]).tolist())
        return np.unique(np.concatenate([sources[~nested], *through]))


@dataclass(frozen=True, slots=True)
class NeededUrls:
    """Linked URLs, needed by most pages first, ties by urlkey; columns of equal length.

    `pages` is the number of pages, `kind` the code of the kind of most links, `document` the number
    of a document that links to the URL; `part` and `place` locate its urlkey, which is read on
    demand.
    """

    table: InlinkTable
    part: Array
    place: Array
    pages: Array
    kind: Array
    document: Array

    def __len__(self) -> int:
        return len(self.pages)

    def keys(self) -> list[str]:
        """Return the urlkeys."""
        places = zip(self.part.tolist(), self.place.tolist(), strict=True)
        return [self.table.range(part).keys[place] for part, place in places]

    def only(self, chosen: Array | slice) -> "NeededUrls":
        """Return the URLs at some indices."""
        columns = (self.part, self.place, self.pages, self.kind, self.document)
        return NeededUrls(self.table, *(column[chosen] for column in columns))


def needed_urls(
    table: InlinkTable, kinds: Collection[str], documents: Array, site: str = ""
) -> NeededUrls:
    """Return the URLs that documents (`bool[documents]`) link to with some kinds of links.

    URLs linked by a style sheet are needed by the pages that load it. Links of a URL to itself do
    not count. `site` restricts the URLs to a host and its subdomains.
    """
    codes = np.array([code for code, name in enumerate(table.notes.kinds) if name in kinds])
    sheets = StyleSheets(table, documents)
    schema = dict.fromkeys(("target", "pages", "kind", "document", "part"), pl.Int64)
    found = [pl.DataFrame(schema=schema)]
    for part in range(len(table.notes.ranges)):
        wanted = _wanted(table.range(part), site)
        if wanted.any():
            counted = _of_range(table, part, codes, sheets, wanted)
            found.append(counted.with_columns(part=pl.lit(part, dtype=pl.Int64)))
    frame = pl.concat(found).sort(["pages", "part", "target"], descending=[True, False, False])
    names = ("part", "target", "pages", "kind", "document")
    return NeededUrls(table, *(frame[name].to_numpy() for name in names))


def _wanted(found: TargetRange, site: str) -> Array:
    """Return which linked URLs of a range belong to a site, as bool array."""
    if not site:
        return np.ones(len(found.keys), dtype=bool)
    wanted = np.zeros(len(found.keys), dtype=bool)
    head = head_of_host(host_of_site(site))
    for sign in (")", ",", ":"):
        first = f"{head}{sign}"
        wanted[found.keys.place(first) : found.keys.place(f"{first}\U0010ffff")] = True
    return wanted


def _of_range(
    table: InlinkTable, part: int, codes: Array, sheets: StyleSheets, wanted: Array
) -> pl.DataFrame:
    """Return target, pages, kind and document of the needed URLs of a range."""
    found = table.range(part)
    arrays = found.arrays
    targets = found.targets()
    sources = table.documents["source"][arrays["document"]].astype(np.int64)
    of_sheet = np.isin(sources, sheets.sources)
    counting = np.isin(arrays["kind"], codes) & (arrays["flags"] & SELF == 0) & wanted[targets]
    counting &= sheets.documents[arrays["document"]] | of_sheet
    frame = pl.DataFrame(
        {
            "target": targets[counting],
            "source": sources[counting],
            "kind": arrays["kind"][counting].astype(np.int64),
            "document": arrays["document"][counting].astype(np.int64),
            "of_sheet": of_sheet[counting],
        }
    )
    named = (
        frame.group_by("target", "kind")
        .agg(uses=pl.col("source").n_unique(), document=pl.col("document").min())
        .sort("target", "uses", "kind", descending=[False, True, False])
        .group_by("target", maintain_order=True)
        .first()
    )
    pages = frame.filter(~pl.col("of_sheet")).group_by("target")
    counted = pl.concat(
        [
            pages.agg(pages=pl.col("source").n_unique().cast(pl.Int64)),
            _through_sheets(frame, sheets),
        ]
    )
    counted = counted.group_by("target").agg(pl.col("pages").max()).filter(pl.col("pages") > 0)
    return counted.join(named, on="target").select("target", "pages", "kind", "document")


def _through_sheets(frame: pl.DataFrame, sheets: StyleSheets) -> pl.DataFrame:
    """Return the number of pages that need each URL linked by style sheets, in any way."""
    linked = frame.filter(pl.col("of_sheet"))["target"].unique()
    some = frame.filter(pl.col("target").is_in(linked.implode()))
    rows = [
        (target[0], len(sheets.pages_of(group["source"].to_numpy())))
        for target, group in some.group_by("target")
    ]
    schema = {"target": pl.Int64, "pages": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


PAIRS_AT_ONCE = 4_000_000
"""The approximate number of pairs in a piece, unless a single URL has more."""

_NONE = -1
_HALF = np.uint64(32)


def needing_pages(
    needed: NeededUrls, kinds: Collection[str], documents: Array, at_once: int = PAIRS_AT_ONCE
) -> Iterator[tuple[Array, Array]]:
    """Yield the pages that need some URLs, as pairs: index in `needed`, source of the page.

    `kinds` and `documents` must be the arguments given to `needed_urls`. URLs linked by a style
    sheet are needed by the pages that load it. All pairs of a URL are in one piece, each once.
    """
    table = needed.table
    codes = np.array([code for code, name in enumerate(table.notes.kinds) if name in kinds])
    sheets = StyleSheets(table, documents)
    for part in np.unique(needed.part).tolist():
        own = np.flatnonzero(needed.part == part)
        links = _links(table, part, needed, codes, sheets)
        # A style sheet loaded by a million pages makes a million pairs for each of its links.
        pieces = np.cumsum(needed.pages[own]) // at_once
        for some in np.split(own, np.flatnonzero(is_new(pieces))[1:]):
            yield _pairs(links, int(some[0]), int(some[-1]), sheets)


class _Links(NamedTuple):
    """Links to needed URLs: pairs of index in `needed` and source, ordered by index.

    `nested` are the links of style sheets, as columns.
    """

    place: Array
    source: Array
    nested: Array


def _links(
    table: InlinkTable, part: int, needed: NeededUrls, codes: Array, sheets: StyleSheets
) -> _Links:
    found = table.range(part)
    arrays = found.arrays
    numbers = np.full(len(found.keys), _NONE, dtype=np.int64)
    own = np.flatnonzero(needed.part == part)
    numbers[needed.place[own]] = own
    number = numbers[found.targets()]
    source = table.documents["source"][arrays["document"]].astype(np.int64)
    of_sheet = np.isin(source, sheets.sources)
    counting = (number != _NONE) & np.isin(arrays["kind"], codes) & (arrays["flags"] & SELF == 0)
    direct = np.flatnonzero(counting & ~of_sheet & sheets.documents[arrays["document"]])
    direct = direct[np.argsort(number[direct], kind="stable")]
    nested = counting & of_sheet
    of_sheets = np.unique(np.stack([number[nested], source[nested]]), axis=1)
    return _Links(number[direct], source[direct], of_sheets)


def _pairs(links: _Links, first: int, last: int, sheets: StyleSheets) -> tuple[Array, Array]:
    """Return the distinct pairs of the URLs from index `first` to `last`, inclusive."""
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
