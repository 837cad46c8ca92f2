"""All links of a build as tables, a range of linked URLs at a time."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.counts import cell_rows
from nwx.engine.inlinks.table import SELF, InlinkTable, TargetRange
from nwx.model import LinkCell
from nwx.values.urls import host_of_urlkey

NEVER = 0
"""The first date of a document that was not captured in a cell."""


def first_dates(table: InlinkTable, cell: LinkCell) -> Array:
    """Return for each linking document its first capture in a cell as a number, NEVER if none."""
    arrays = table.documents
    first = np.zeros(len(arrays["cell_starts"]) - 1, dtype=np.int64)
    code = table.cell_codes.get(cell)
    if code is not None:
        places = np.flatnonzero(arrays["cell_code"] == code)
        documents = np.searchsorted(arrays["cell_starts"], places, side="right") - 1
        first[documents] = arrays["cell_first"][places]
    return first


def targets_of_links(found: TargetRange) -> Array:
    """Return the place of the linked URL of each link of a range."""
    counts = np.diff(found.arrays["link_starts"])
    return np.repeat(np.arange(len(counts)), counts)


def link_frames(table: InlinkTable, cell: LinkCell) -> Iterator[pl.DataFrame]:
    """Yield the links of a cell: urlkeys of source and target, timestamp, kind, anchor.

    In the order of target, source, kind and anchor; about a million at a time. A page whose
    versions have the same link is one row, with the first date.
    """
    first = first_dates(table, cell)
    sources = pl.Series("source", table.sources.all(), dtype=pl.String)
    names = pl.Series("kind", list(table.notes.kinds), dtype=pl.String)
    for number in range(len(table.notes.ranges)):
        found = table.range(number)
        links = _links(table, found, first, names)
        yield pl.DataFrame(
            [
                sources.gather(links["source"]),
                pl.Series("target", found.keys.all(), dtype=pl.String).gather(links["target"]),
                links["first"].cast(pl.String).str.zfill(14).alias("timestamp"),
                links["kind"],
                pl.Series("anchor", found.anchors.all(), dtype=pl.String).gather(links["anchor"]),
            ]
        )


def _links(table: InlinkTable, found: TargetRange, first: Array, names: pl.Series) -> pl.DataFrame:
    document = found.arrays["document"]
    there = np.flatnonzero(first[document] != NEVER)
    document = document[there]
    links = pl.DataFrame(
        {
            "target": targets_of_links(found)[there],
            "source": table.documents["source"][document],
            "rank": table.documents["source_rank"][table.documents["source"][document]],
            "kind": names.gather(found.arrays["kind"][there]),
            "anchor": found.arrays["anchor"][there],
            "first": first[document],
        }
    )
    columns = ["target", "rank", "source", "kind", "anchor"]
    return links.group_by(columns).agg(pl.col("first").min()).sort(columns)


_SCHEMA = {"source": pl.UInt32, "target": pl.String, "year": pl.Int64, "links": pl.Int64}


class HostLinks(NamedTuple):
    """How many pairs of linking and linked URL two hosts have, in a year, or in all (None)."""

    source: str
    target: str
    year: int | None
    links: int


def host_links(table: InlinkTable) -> Iterator[HostLinks]:
    """Stream the number of links between hosts, own links included, in all and by year.

    A link is a pair of linking and linked URL (by urlkey). In the order of source, target and year,
    all years first.
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
