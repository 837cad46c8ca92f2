"""All inlinks of a build, target by target: as streams and as entries of the index."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from nwx.engine.entries import IndexEntry
from nwx.engine.facet_store import BlobStore
from nwx.engine.inlinks.links import TargetLinks
from nwx.engine.inlinks.table import InlinkTable, inlink_table
from nwx.keys import document_id
from nwx.model import Anchor, LinkCell, LinkCounts
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


class LinkRow(NamedTuple):
    """A link as it is exported: urlkeys of both ends, and the first capture that has it."""

    source: str
    target: str
    timestamp: str
    kind: str
    anchor: str


def link_rows(table: InlinkTable) -> Iterator[LinkRow]:
    """Stream all links in the order of target, source, kind and text, self links included."""
    for number in range(len(table.notes.ranges)):
        found = table.range(number)
        for place in range(len(found.keys)):
            target = found.keys[place]
            for one in TargetLinks(table, found, found.links(place)).inlinks(LinkCell()):
                yield LinkRow(one.urlkey, target, one.timestamp, one.kind, one.text)
