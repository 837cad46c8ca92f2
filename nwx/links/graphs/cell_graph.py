"""The graph of hosts of one cell, counted from a build."""

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.table import SELF, InlinkTable, TargetRange
from nwx.links.graphs.host_graph import HostGraph, host_graph
from nwx.links.link_frames import NEVER, first_dates, targets_of_links
from nwx.model import LinkCell
from nwx.values.link_places import host_of_urlkey

_SCHEMA = {"source": pl.UInt32, "target": pl.String, "links": pl.Int64}
_KEYS = ["source", "target"]


def graph_of_cell(table: InlinkTable, cell: LinkCell) -> HostGraph:
    """Return the graph of the hosts that link, and are linked to, in a cell.

    A link is a pair of linking and linked URL (by urlkey), other than itself.
    """
    first = first_dates(table, cell)
    hosts = np.zeros(len(table.sources), dtype=np.uint32)
    hosts[table.documents["source"]] = table.documents["host"]
    found = [
        _host_pairs(table, table.range(number), first, hosts)
        for number in range(len(table.notes.ranges))
    ]
    every = pl.concat([pl.DataFrame(schema=_SCHEMA), *found])
    together = every.group_by(_KEYS).agg(pl.col("links").sum())
    names = pl.Series(table.hosts.all(), dtype=pl.String)
    named = together.with_columns(source=names.gather(together["source"]))
    return host_graph(named.iter_rows())


def _host_pairs(table: InlinkTable, found: TargetRange, first: Array, hosts: Array) -> pl.DataFrame:
    arrays = found.arrays
    document = arrays["document"]
    counting = np.flatnonzero((first[document] != NEVER) & (arrays["flags"] & SELF == 0))
    pairs = pl.DataFrame(
        {
            "page": table.documents["source"][document[counting]],
            "place": targets_of_links(found)[counting],
        }
    ).unique()
    targets = pl.Series([host_of_urlkey(key) for key in found.keys.all()], dtype=pl.String)
    named = pl.DataFrame(
        {
            "source": pl.Series(hosts[pairs["page"].to_numpy()], dtype=pl.UInt32),
            "target": targets.gather(pairs["place"]),
        }
    )
    return named.group_by(_KEYS).agg(links=pl.len().cast(pl.Int64))
