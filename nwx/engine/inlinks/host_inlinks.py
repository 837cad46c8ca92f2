"""The links from other hosts to all URLs of a host, counted together and listed."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.counts import count_distinct
from nwx.engine.inlinks.links import TargetLinks, links_in_cell
from nwx.engine.inlinks.table import OWN_HOST, InlinkTable, TargetRange
from nwx.model import ANCHORS_KEPT, Anchor, Inlink, LinkCell, LinkCounts
from nwx.values.link_places import head_of_host

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)
_COLUMNS = ("document", "kind", "anchor")
_SIGNS = (")", ":")
"""What stands behind the host in a urlkey."""


class _Pairs:
    """Pairs of a number and a source, each once, however often they come."""

    def __init__(self) -> None:
        self._keys: Array = np.zeros(0, dtype=np.uint64)

    def add(self, numbers: Array, sources: Array) -> None:
        """Take pairs."""
        keys = numbers.astype(np.uint64) << _HALF | sources.astype(np.uint64)
        self._keys = np.unique(np.append(self._keys, keys))

    def numbers(self) -> Array:
        """Return the numbers of the pairs."""
        return (self._keys >> _HALF).astype(np.int64)

    def sources(self) -> Array:
        """Return the sources of the pairs."""
        return (self._keys & _LOW).astype(np.int64)


class _Stretch(NamedTuple):
    """Links of one range that count: their documents, kinds and anchors, and dates there."""

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
        """Return what is counted in a cell; a page that links to several URLs counts once."""
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
        of_page = self._hosts_of_pages("host"), self._hosts_of_pages("domain")
        return LinkCounts(
            documents=len(pages),
            hosts=len(np.unique(of_page[0][pages])),
            domains=len(np.unique(of_page[1][pages])),
            first=f"{min(first):014}",
            last=f"{max(last):014}",
            kinds=self._kinds(kinds),
            anchors=_most_frequent(anchors, list(texts), of_page[0]),
        )

    def _hosts_of_pages(self, level: str) -> Array:
        documents = self._table.documents
        found = np.zeros(len(self._table.sources), dtype=np.uint32)
        found[documents["source"]] = documents[level]
        return found

    def _kinds(self, pairs: _Pairs) -> dict[str, int]:
        names = self._table.notes.kinds
        counts = np.bincount(pairs.numbers(), minlength=len(names)).tolist()
        found = [(name, count) for name, count in zip(names, counts, strict=True) if count]
        return dict(sorted(found, key=lambda one: (-one[1], one[0])))

    def inlinks(self, cell: LinkCell) -> Iterator[tuple[str, Inlink]]:
        """Stream the links in a cell with the urlkeys that they lead to, in the order of these."""
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
