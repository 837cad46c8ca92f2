"""The links of an archive, as they were inverted last: counts, lists and streams."""

from collections.abc import Iterator

import polars as pl

from nwx.engine.base import Engine
from nwx.engine.inlinks import entries
from nwx.engine.inlinks.entries import AnchoredTarget, LinkRow
from nwx.engine.inlinks.links import HostInlinks, target_links
from nwx.errors import NotBuiltError
from nwx.links.host_graph import HostGraph, graph_of_cell
from nwx.links.link_frames import HostLinks, host_links, link_frames
from nwx.model import Anchor, Inlink, LinkCell, LinkCounts

ALL_LINKS = LinkCell()


class ArchiveLinks:
    """The inlinks of an archive, fixed to the build that was current when opened."""

    def __init__(self, engine: Engine) -> None:
        """Open the current build; raises NotBuiltError where links were never inverted."""
        self._index = engine.inlink_index()
        table = self._index.table()
        if table is None:
            raise NotBuiltError.translated(
                "the links of %(address)s were never inverted; run `nwx invert-links` first",
                address=engine.address,
            )
        self.table = table

    def is_current(self) -> bool:
        """Return whether no document or date was written or deleted since links were inverted."""
        return self._index.stamp() == self.table.notes.stamp

    def counts(self, urlkey: str, cell: LinkCell = ALL_LINKS) -> LinkCounts | None:
        """Return the counts of the links to a URL, None without links to it."""
        links = target_links(self.table, urlkey)
        return None if links is None else links.counts(cell)

    def inlinks(self, urlkey: str, cell: LinkCell = ALL_LINKS) -> Iterator[Inlink]:
        """Stream the links to a URL in the order of the linking urlkey, kind and text."""
        links = target_links(self.table, urlkey)
        return iter(()) if links is None else links.inlinks(cell)

    def anchors(self, urlkey: str, cell: LinkCell = ALL_LINKS) -> tuple[Anchor, ...]:
        """Return the anchor texts of the links to a URL from all hosts, its own included."""
        links = target_links(self.table, urlkey)
        return () if links is None else links.anchors(cell)

    def of_host(self, host: str) -> HostInlinks:
        """Return the links from other hosts to all URLs of a host."""
        return HostInlinks(self.table, host)

    def years(self) -> list[int]:
        """Return the years of captures that have links."""
        return self.table.years()

    def rows(self) -> Iterator[LinkRow]:
        """Stream all links in the order of target, source, kind and text."""
        return entries.link_rows(self.table)

    def host_links(self) -> Iterator[HostLinks]:
        """Stream how many links hosts have to hosts, in all (year None) and by year."""
        return host_links(self.table)

    def frames(self, cell: LinkCell = ALL_LINKS) -> Iterator[pl.DataFrame]:
        """Stream the links of a cell as tables, see `link_frames`."""
        return link_frames(self.table, cell)

    def host_graph(self, cell: LinkCell = ALL_LINKS) -> HostGraph:
        """Return the graph of the hosts that link and are linked to in a cell."""
        return graph_of_cell(self.table, cell)

    def anchored_targets(self) -> Iterator[AnchoredTarget]:
        """Stream all linked URLs with their counts and anchors, in the order of urlkeys."""
        return entries.anchored_targets(self.table)
