"""All inlinks of a build as streams, target by target."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from nwx.engine.inlinks.counts import count_anchors, most_frequent
from nwx.engine.inlinks.links import TargetLinks
from nwx.engine.inlinks.table import OWN_HOST, SELF, InlinkTable, TargetRange
from nwx.model import ANCHORS_KEPT, Anchor, LinkCell

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
    """A linked URL as a search looks at it: counts of all its inlinks, and anchor texts.

    `anchors` are those from other hosts, as in LinkCounts.
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
