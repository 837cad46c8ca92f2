"""All inlinks of a build, target by target: as streams and as entries of the index."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from nwx.engine.entries import IndexEntry
from nwx.engine.facet_store import BlobStore
from nwx.engine.inlinks.counts import count_anchors, most_frequent
from nwx.engine.inlinks.links import TargetLinks
from nwx.engine.inlinks.table import OWN_HOST, SELF, InlinkTable, TargetRange, inlink_table
from nwx.keys import document_id
from nwx.model import ANCHORS_KEPT, Anchor, LinkCell, LinkCounts
from nwx.values.urls import domain_of_host, host_of_urlkey


def cell_order(cell: LinkCell) -> tuple[str, int]:
    """Return what orders cells: all first, then years, then collections and their years."""
    return cell.collection, cell.year or 0


def inlink_id(urlkey: str, cell: LinkCell) -> str:
    """Return the id of an entry: the hash of the urlkey, and the cell where it is not of all."""
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
        **_anchor_fields(counts.anchors),
        "own_anchors": [one.text for one in counts.own_anchors],
        "own_anchor_documents": [one.documents for one in counts.own_anchors],
    }
    return {name: value for name, value in entry.items() if value not in ("", None, [])}


def _anchor_fields(anchors: Sequence[Anchor]) -> IndexEntry:
    return {
        "anchors": [one.text for one in anchors],
        "anchor_documents": [one.documents for one in anchors],
        "anchor_hosts": [one.hosts for one in anchors],
    }


def table_entries(table: InlinkTable) -> Iterator[IndexEntry]:
    """Stream the entries of a build in the order of urlkey and cell."""
    for number in range(len(table.notes.ranges)):
        found = table.range(number)
        starts = found.arrays["count_starts"].tolist()
        codes = found.arrays["count_cell"]
        for place in np.flatnonzero(np.diff(starts)).tolist():
            urlkey = found.keys[place]
            links = TargetLinks(table, found, found.links(place))
            cells = [table.cells[code] for code in codes[starts[place] : starts[place + 1]]]
            for cell in sorted(cells, key=cell_order):
                yield inlink_entry(urlkey, cell, links.counts(cell))


def inlink_entries(store: BlobStore) -> Iterator[IndexEntry]:
    """Stream the entries of the current build in the order of urlkey and cell."""
    table = inlink_table(store)
    if table is not None:
        yield from table_entries(table)


OF_ALL_LINKS = 0
"""The code of the cell of all links."""


class LinkRow(NamedTuple):
    """A link as it is exported: urlkeys of both ends, and the first capture that has it."""

    source: str
    target: str
    timestamp: str
    kind: str
    anchor: str


class AnchoredTarget(NamedTuple):
    """A linked URL for searches: counts of all its inlinks, and anchor texts.

    `anchors` are from other hosts only, as in LinkCounts.
    """

    urlkey: str
    documents: int
    hosts: int
    domains: int
    anchors: tuple[Anchor, ...]


def link_rows(table: InlinkTable) -> Iterator[LinkRow]:
    """Stream all links in the order of target, source, kind and text, self links included."""
    for number in range(len(table.notes.ranges)):
        found = table.range(number)
        for place in range(len(found.keys)):
            target = found.keys[place]
            for one in TargetLinks(table, found, found.links(place)).inlinks(LinkCell()):
                yield LinkRow(one.urlkey, target, one.timestamp, one.kind, one.text)


def anchored_targets(table: InlinkTable) -> Iterator[AnchoredTarget]:
    """Stream all targets that others link to, in the order of urlkeys, with their anchors."""
    for number in range(len(table.notes.ranges)):
        found = table.range(number)
        arrays = found.arrays
        all_links = np.flatnonzero(arrays["count_cell"] == OF_ALL_LINKS)
        targets = np.searchsorted(arrays["count_starts"], all_links, side="right") - 1
        documents, hosts, domains = (
            arrays[f"count_{name}"][all_links].tolist()
            for name in ("documents", "hosts", "domains")
        )
        anchors = _anchors(table, found)
        rows = zip(targets.tolist(), documents, hosts, domains, strict=True)
        for place, of_documents, of_hosts, of_domains in rows:
            texts = tuple(anchors.get(place, ()))
            yield AnchoredTarget(found.keys[place], of_documents, of_hosts, of_domains, texts)


def _anchors(table: InlinkTable, found: TargetRange) -> dict[int, list[Anchor]]:
    """Return the anchors of links from other hosts by the places of targets."""
    arrays = found.arrays
    links = np.flatnonzero((arrays["flags"] & (OWN_HOST | SELF)) == 0)
    targets = np.searchsorted(arrays["link_starts"], links, side="right") - 1
    counted = count_anchors(
        targets, arrays["anchor"][links], arrays["document"][links], table.documents
    )
    best = most_frequent(counted, ANCHORS_KEPT)
    anchors: dict[int, list[Anchor]] = {}
    for place, anchor, documents, hosts in zip(*(one.tolist() for one in best), strict=True):
        anchors.setdefault(place, []).append(Anchor(found.anchors[anchor], documents, hosts))
    return anchors
