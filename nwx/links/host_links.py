"""Hosts that link to hosts, and how often, by year."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.counts import cell_rows
from nwx.engine.inlinks.table import SELF, InlinkTable, TargetRange
from nwx.values.link_places import host_of_urlkey

_SCHEMA = {"source": pl.UInt32, "target": pl.String, "year": pl.Int64, "links": pl.Int64}


class HostLinks(NamedTuple):
    """How many pairs of linking and linked URL two hosts have, in a year, or in all (None)."""

    source: str
    target: str
    year: int | None
    links: int


def host_links(table: InlinkTable) -> Iterator[HostLinks]:
    """Stream how many links hosts have to hosts, themselves included, in all and by year.

    A link is a pair of linking and linked URL (by urlkey). In the order of
    source, target and year, all years first.
    """
    ranges = map(table.range, range(len(table.notes.ranges)))
    frames = [_of_range(table, found) for found in ranges]
    together = (
        pl.concat([pl.DataFrame(schema=_SCHEMA), *frames])
        .group_by("source", "target", "year")
        .agg(pl.col("links").sum())
    )
    names = pl.Series(table.hosts.all(), dtype=pl.String)
    together = together.with_columns(source=names.gather(together["source"]))
    for row in together.sort("source", "target", "year", nulls_last=False).iter_rows():
        yield HostLinks(*row)


def _of_range(table: InlinkTable, found: TargetRange) -> pl.DataFrame:
    arrays = found.arrays
    links = np.flatnonzero((arrays["flags"] & SELF) == 0)
    target = np.searchsorted(arrays["link_starts"], links, side="right") - 1
    document: Array = arrays["document"][links]
    rows = cell_rows(document, table.documents)
    years = [code for code, cell in enumerate(table.cells) if not cell.collection]
    wanted = np.isin(rows.cell, years)
    places = rows.link[wanted]
    hosts = [host_of_urlkey(key) for key in found.keys.all()]
    frame = pl.DataFrame(
        {
            "page": table.documents["source"][document[places]],
            "place": target[places],
            "cell": rows.cell[wanted],
        }
    ).unique()
    frame = frame.with_columns(
        source=pl.Series(_host_of_page(table)[frame["page"].to_numpy()], dtype=pl.UInt32),
        target=pl.Series(hosts, dtype=pl.String).gather(frame["place"]),
    )
    counted = frame.group_by("source", "target", "cell").agg(links=pl.len().cast(pl.Int64))
    cells = pl.Series([one.year for one in table.cells], dtype=pl.Int64)
    return counted.with_columns(year=cells.gather(counted["cell"])).select(list(_SCHEMA))


def _host_of_page(table: InlinkTable) -> Array:
    found: Array = np.zeros(len(table.sources), dtype=np.uint32)
    found[table.documents["source"]] = table.documents["host"]
    return found
