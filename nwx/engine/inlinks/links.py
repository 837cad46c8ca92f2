"""The links of a build: to one URL or host, with counts by cell; all, as rows."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.counts import (
    count_anchors,
    count_distinct,
    most_frequent,
    spread,
)
from nwx.engine.inlinks.table import OWN_HOST, SELF, InlinkTable, TargetRange
from nwx.model import ANCHORS_KEPT, Anchor, Inlink, LinkCell, LinkCounts
from nwx.values.urls import head_of_host

_AT_ONCE = 20_000
_OTHERS, _OWN = 0, 1


class TargetLinks:
    """The links to one target, or to several adjacent ones of a range."""

    def __init__(self, table: InlinkTable, found: TargetRange, links: slice) -> None:
        self._table, self._found = table, found
        arrays = found.arrays
        self._document = arrays["document"][links]
        self._anchor = arrays["anchor"][links]
        self._kind = arrays["kind"][links]
        self._flags = arrays["flags"][links]

    def counts(self, cell: LinkCell) -> LinkCounts:
        """Return the counts of a cell."""
        code = self._table.cell_codes.get(cell)
        if code is None:
            return LinkCounts()
        counting = np.flatnonzero((self._flags & SELF) == 0)
        inside, first, last = links_in_cell(self._table, self._document[counting], code)
        places = counting[inside]
        if not len(places):
            return LinkCounts()
        documents = self._document[places]
        together = np.zeros(len(places), dtype=np.int64)
        distinct = {
            name: int(count_distinct(together, self._table.documents[name][documents], 1)[0])
            for name in ("source", "host", "domain")
        }
        others, own = self._anchors(places, documents)
        return LinkCounts(
            documents=distinct["source"],
            hosts=distinct["host"],
            domains=distinct["domain"],
            first=f"{int(first.min()):014}",
            last=f"{int(last.max()):014}",
            kinds=self._kinds(places, documents),
            anchors=others,
            own_anchors=own,
        )

    def _kinds(self, places: Array, documents: Array) -> Mapping[str, int]:
        names = self._table.notes.kinds
        sources = self._table.documents["source"][documents]
        return ordered_kinds(
            names, count_distinct(self._kind[places], sources, len(names)).tolist()
        )

    def _anchors(
        self, places: Array, documents: Array
    ) -> tuple[tuple[Anchor, ...], tuple[Anchor, ...]]:
        groups = (self._flags[places] & OWN_HOST > 0).astype(np.int64)
        counted = count_anchors(groups, self._anchor[places], documents, self._table.documents)
        best = most_frequent(counted, ANCHORS_KEPT)
        found: tuple[list[Anchor], list[Anchor]] = ([], [])
        for group, anchor, uses, hosts in zip(*(one.tolist() for one in best), strict=True):
            found[group].append(Anchor(self._found.anchors[anchor], uses, hosts))
        return tuple(found[_OTHERS]), tuple(found[_OWN])

    def anchors(self, cell: LinkCell) -> tuple[Anchor, ...]:
        """Return the anchor texts from all hosts, its own included, most frequent first."""
        code = self._table.cell_codes.get(cell)
        if code is None:
            return ()
        counting = np.flatnonzero((self._flags & SELF) == 0)
        inside, _, _ = links_in_cell(self._table, self._document[counting], code)
        places = counting[inside]
        together = np.zeros(len(places), dtype=np.int64)
        counted = count_anchors(
            together, self._anchor[places], self._document[places], self._table.documents
        )
        best = most_frequent(counted, ANCHORS_KEPT)
        rows = zip(best.anchor.tolist(), best.documents.tolist(), best.hosts.tolist(), strict=True)
        return tuple(Anchor(self._found.anchors[text], uses, hosts) for text, uses, hosts in rows)

    def inlinks(self, cell: LinkCell, *, from_others: bool = False) -> Iterator[Inlink]:
        """Yield the links in a cell, sorted by linking urlkey, kind and text.

        `from_others` excludes links from the same host.
        """
        code = self._table.cell_codes.get(cell)
        if code is None:
            return
        arrays = self._table.documents
        order = np.argsort(arrays["source_rank"][arrays["source"][self._document]], kind="stable")
        for source, group in groupby(self._rows(code, order, from_others), itemgetter(0)):
            found: dict[tuple[str, str], tuple[int, int]] = {}
            for _, first, document, kind, anchor in group:
                key = (self._table.notes.kinds[kind], self._found.anchors[anchor])
                found[key] = min(found.get(key, (first, document)), (first, document))
            urlkey = self._table.sources[source]
            for (kind_name, text), (first, document) in sorted(found.items()):
                url = self._table.urls[document]
                yield Inlink(url, urlkey, f"{first:014}", kind_name, text)

    def _rows(
        self, code: int, order: Array, from_others: bool
    ) -> Iterator[tuple[int, int, int, int, int]]:
        for begin in range(0, len(order), _AT_ONCE):
            stretch = order[begin : begin + _AT_ONCE]
            documents = self._document[stretch]
            inside, first, _ = links_in_cell(self._table, documents, code)
            if from_others:
                other = self._flags[stretch][inside] & OWN_HOST == 0
                inside, first = inside[other], first[other]
            documents = documents[inside]
            yield from zip(
                self._table.documents["source"][documents].tolist(),
                first.tolist(),
                documents.tolist(),
                self._kind[stretch][inside].tolist(),
                self._anchor[stretch][inside].tolist(),
                strict=True,
            )


def ordered_kinds(names: Sequence[str], counts: Sequence[int]) -> dict[str, int]:
    """Return the counts of kinds that are not 0, the highest first."""
    found = [(name, count) for name, count in zip(names, counts, strict=True) if count]
    return dict(sorted(found, key=lambda one: (-one[1], one[0])))


def links_in_cell(table: InlinkTable, documents: Array, code: int) -> tuple[Array, Array, Array]:
    """Return which of these documents are in a cell, and their first and last dates in it."""
    arrays = table.documents
    of, places = spread(arrays["cell_starts"], documents)
    inside = arrays["cell_code"][places] == code
    places = places[inside]
    return of[inside], arrays["cell_first"][places], arrays["cell_last"][places]


def target_links(table: InlinkTable, urlkey: str) -> TargetLinks | None:
    """Return the links to a URL, None if there are none."""
    found = table.place(urlkey)
    if found is None:
        return None
    of_range, place = found
    return TargetLinks(table, of_range, of_range.links(place))


_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_COLUMNS = ("document", "kind", "anchor")
_SIGNS = (")", ":")
"""The characters after the host in a urlkey."""


class _Pairs:
    """A set of pairs of a number and a source."""

    def __init__(self) -> None:
        self._keys: Array = np.zeros(0, dtype=np.uint64)

    def add(self, numbers: Array, sources: Array) -> None:
        keys = numbers.astype(np.uint64) << _HALF | sources.astype(np.uint64)
        self._keys = np.unique(np.append(self._keys, keys))

    def numbers(self) -> Array:
        return (self._keys >> _HALF).astype(np.int64)

    def sources(self) -> Array:
        return (self._keys & _LOW).astype(np.int64)


class _Stretch(NamedTuple):
    """Counted links of one range: their documents, kinds and anchors, and dates in the cell."""

    found: TargetRange
    document: Array
    kind: Array
    anchor: Array
    first: Array
    last: Array


class HostInlinks:
    """The links from other hosts to the URLs of a host."""

    def __init__(self, table: InlinkTable, host: str) -> None:
        self._table = table
        self._head = head_of_host(host)

    def _places(self) -> Iterator[tuple[TargetRange, int, int]]:
        for sign in _SIGNS:
            behind = chr(ord(sign) + 1)
            yield from self._table.places(f"{self._head}{sign}", f"{self._head}{behind}")

    def _stretches(self, cell: LinkCell) -> Iterator[_Stretch]:
        code = self._table.cell_codes.get(cell)
        if code is None:
            return
        for found, begin, end in self._places():
            arrays = found.arrays
            starts = arrays["link_starts"]
            links = slice(int(starts[begin]), int(starts[end]))
            others = np.flatnonzero(arrays["flags"][links] & OWN_HOST == 0) + links.start
            inside, first, last = links_in_cell(self._table, arrays["document"][others], code)
            places = others[inside]
            document, kind, anchor = (arrays[name][places] for name in _COLUMNS)
            yield _Stretch(found, document, kind, anchor, first, last)

    def counts(self, cell: LinkCell) -> LinkCounts:
        """Return the counts of a cell; a page that links to several URLs counts once."""
        documents = self._table.documents
        kinds, anchors = _Pairs(), _Pairs()
        texts: dict[str, int] = {}
        first, last = [], []
        for one in self._stretches(cell):
            if not len(one.document):
                continue
            source = documents["source"][one.document]
            kinds.add(one.kind, source)
            used, local = np.unique(one.anchor, return_inverse=True)
            codes = [texts.setdefault(found, len(texts)) for found in one.found.anchors.take(used)]
            anchors.add(np.array(codes, dtype=np.int64)[local], source)
            first.append(int(one.first.min()))
            last.append(int(one.last.max()))
        if not first:
            return LinkCounts()
        pages = np.unique(kinds.sources())
        of_page = self._table.by_source("host"), self._table.by_source("domain")
        return LinkCounts(
            documents=len(pages),
            hosts=len(np.unique(of_page[0][pages])),
            domains=len(np.unique(of_page[1][pages])),
            first=f"{min(first):014}",
            last=f"{max(last):014}",
            kinds=self._kinds(kinds),
            anchors=_most_frequent(anchors, list(texts), of_page[0]),
        )

    def _kinds(self, pairs: _Pairs) -> dict[str, int]:
        names = self._table.notes.kinds
        return ordered_kinds(names, np.bincount(pairs.numbers(), minlength=len(names)).tolist())

    def inlinks(self, cell: LinkCell) -> Iterator[tuple[str, Inlink]]:
        """Yield the links in a cell, each with its target's urlkey, in the order of targets."""
        for found, begin, end in self._places():
            for place in range(begin, end):
                links = TargetLinks(self._table, found, found.links(place))
                target = found.keys[place]
                for one in links.inlinks(cell, from_others=True):
                    yield target, one


def _most_frequent(pairs: _Pairs, texts: list[str], hosts: Array) -> tuple[Anchor, ...]:
    numbers, sources = pairs.numbers(), pairs.sources()
    documents = np.bincount(numbers, minlength=len(texts)).tolist()
    of_hosts = count_distinct(numbers, hosts[sources], len(texts)).tolist()
    rows = zip(texts, documents, of_hosts, strict=True)
    found = [Anchor(*row) for row in rows if row[0]]
    return tuple(sorted(found, key=lambda one: (-one.documents, one.text))[:ANCHORS_KEPT])


class LinkRow(NamedTuple):
    """A link for export: urlkeys of both ends, and the timestamp of the first capture with it."""

    source: str
    target: str
    timestamp: str
    kind: str
    anchor: str


def link_rows(table: InlinkTable) -> Iterator[LinkRow]:
    """Yield all links in the order of target, source, kind and text, self links included."""
    for number in range(len(table.notes.ranges)):
        found = table.range(number)
        for place in range(len(found.keys)):
            target = found.keys[place]
            for one in TargetLinks(table, found, found.links(place)).inlinks(LinkCell()):
                yield LinkRow(one.urlkey, target, one.timestamp, one.kind, one.text)
