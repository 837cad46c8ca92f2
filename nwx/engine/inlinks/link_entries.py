"""The links of a build as index entries: one for each linked URL and cell."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from nwx.engine.entries import IndexEntry
from nwx.engine.facet_store import BlobStore
from nwx.engine.inlinks.counts import cell_rows, count_anchors, count_distinct, most_frequent
from nwx.engine.inlinks.links import TargetLinks, ordered_kinds
from nwx.engine.inlinks.table import OWN_HOST, SELF, InlinkTable, TargetRange, inlink_table
from nwx.keys import document_id
from nwx.model import ANCHORS_KEPT, Anchor, LinkCell, LinkCounts
from nwx.values.urls import domain_of_host, host_of_urlkey

_LINKS_AT_ONCE = 20_000


def cell_order(cell: LinkCell) -> tuple[str, int]:
    """Return the sort key of a cell: all first, then years, then collections and their years."""
    return cell.collection, cell.year or 0


def inlink_id(urlkey: str, cell: LinkCell) -> str:
    """Return the id of an entry: the hash of the urlkey, and the cell unless it is that of all."""
    id = document_id(urlkey)
    if cell == LinkCell():
        return id
    return f"{id}/{'' if cell.year is None else cell.year}/{cell.collection}"


def inlink_entry(urlkey: str, cell: LinkCell, counts: LinkCounts) -> IndexEntry:
    """Return the entry of a linked URL in a cell."""
    host = host_of_urlkey(urlkey)
    entry: dict[str, Any] = {
        "id": inlink_id(urlkey, cell),
        "urlkey": urlkey,
        "host": host,
        "domain": domain_of_host(host),
        "year": cell.year,
        "collection": cell.collection,
        "documents": counts.documents,
        "hosts": counts.hosts,
        "domains": counts.domains,
        "first": counts.first,
        "last": counts.last,
        "kinds": list(counts.kinds),
        "kind_documents": list(counts.kinds.values()),
        "anchors": [one.text for one in counts.anchors],
        "anchor_documents": [one.documents for one in counts.anchors],
        "anchor_hosts": [one.hosts for one in counts.anchors],
        "own_anchors": [one.text for one in counts.own_anchors],
        "own_anchor_documents": [one.documents for one in counts.own_anchors],
    }
    return {name: value for name, value in entry.items() if value not in ("", None, [])}


def table_entries(table: InlinkTable) -> Iterator[IndexEntry]:
    """Yield the entries of a build in the order of urlkey and cell."""
    for number in range(len(table.notes.ranges)):
        found = table.range(number)
        starts, begin = found.arrays["link_starts"].astype(np.int64), 0
        while begin < len(found.keys):
            most = int(np.searchsorted(starts, starts[begin] + _LINKS_AT_ONCE, "right")) - 1
            if most > begin:
                yield from _entries(table, found, begin, most)
            else:
                yield from _entries_of_one(table, found, begin)
            begin = max(most, begin + 1)


def _entries_of_one(table: InlinkTable, found: TargetRange, place: int) -> Iterator[IndexEntry]:
    """Yield the entries of a target with many links: counting each cell alone takes less memory."""
    links = TargetLinks(table, found, found.links(place))
    first, last = found.arrays["count_starts"][place : place + 2].tolist()
    cells = [table.cells[code] for code in found.arrays["count_cell"][first:last]]
    for cell in sorted(cells, key=cell_order):
        yield inlink_entry(found.keys[place], cell, links.counts(cell))


def _entries(table: InlinkTable, found: TargetRange, begin: int, end: int) -> Iterator[IndexEntry]:
    """Yield the entries of the targets from one position up to, excluding, another."""
    starts = found.arrays["count_starts"][begin : end + 1].tolist()
    kinds, anchors = _counted(table, found, begin, end)
    columns = (
        found.arrays[f"count_{name}"][starts[0] : starts[-1]].tolist()
        for name in ("cell", "documents", "hosts", "domains", "first", "last")
    )
    counts = [
        (
            table.cells[cell],
            LinkCounts(documents, hosts, domains, f"{first:014}", f"{last:014}", *more),
        )
        for cell, documents, hosts, domains, first, last, *more in zip(
            *columns, kinds, anchors[::2], anchors[1::2], strict=True
        )
    ]
    for place, (first, last) in enumerate(pairwise(starts), begin):
        cells = sorted(
            counts[first - starts[0] : last - starts[0]], key=lambda one: cell_order(one[0])
        )
        for cell, of_cell in cells:
            yield inlink_entry(found.keys[place], cell, of_cell)


def _counted(
    table: InlinkTable, found: TargetRange, begin: int, end: int
) -> tuple[list[dict[str, int]], list[tuple[Anchor, ...]]]:
    """Return the counts of kinds by entry, and its anchors, those from others before its own."""
    arrays = found.arrays
    link_starts, count_starts = (
        arrays[name][begin : end + 1].astype(np.int64) for name in ("link_starts", "count_starts")
    )
    links = slice(int(link_starts[0]), int(link_starts[-1]))
    counting = np.flatnonzero(arrays["flags"][links] & SELF == 0) + links.start
    documents = arrays["document"][counting].astype(np.int64)
    rows = cell_rows(documents, table.documents)
    places, documents = counting[rows.link], documents[rows.link]
    target = np.searchsorted(link_starts, places, "right") - 1
    of_entry = np.repeat(np.arange(end - begin), np.diff(count_starts))
    cells = arrays["count_cell"][count_starts[0] : count_starts[-1]].astype(np.int64)
    entry = np.searchsorted(of_entry << 32 | cells, target << 32 | rows.cell.astype(np.int64))
    names = table.notes.kinds
    number = len(of_entry)
    kinds = count_distinct(
        entry * len(names) + arrays["kind"][places],
        table.documents["source"][documents],
        number * len(names),
    )
    by_entry = kinds.reshape(number, len(names)).tolist()
    groups = entry * 2 + (arrays["flags"][places] & OWN_HOST > 0)
    counted = count_anchors(groups, arrays["anchor"][places], documents, table.documents)
    best = most_frequent(counted, ANCHORS_KEPT)
    texts = found.anchors.take(best.anchor.tolist())
    made = list(map(Anchor, texts, best.documents.tolist(), best.hosts.tolist()))
    bounds = np.searchsorted(best.group, np.arange(2 * number + 1)).tolist()
    return [ordered_kinds(names, one) for one in by_entry], [
        tuple(made[first:last]) for first, last in pairwise(bounds)
    ]


def inlink_entries(store: BlobStore) -> Iterator[IndexEntry]:
    """Yield the entries of the current build in the order of urlkey and cell."""
    table = inlink_table(store)
    if table is not None:
        yield from table_entries(table)
