"""All links of a build as tables, a range of linked URLs at a time."""

from collections.abc import Iterator

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.table import InlinkTable, TargetRange
from nwx.model import LinkCell

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

    In the order of target, source, kind and anchor; about a million at a
    time. A page whose versions have the same link is one row, with the date
    of the first.
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
