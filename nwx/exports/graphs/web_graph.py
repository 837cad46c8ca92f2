"""Graphs in the text form of Common Crawl's web graphs.

`vertices.txt.gz` has lines of id and reversed name, and of domains the
number of their hosts; `edges.txt.gz` has lines of two ids. Columns are
separated by tabs, and both files are sorted by number.
https://commoncrawl.org/web-graphs
"""

import gzip
from collections.abc import Iterable
from pathlib import Path

from nwx.bulk.whole_files import whole_file
from nwx.exports.graphs.tables import GraphTables

_LEVEL = 6


def write_web_graph(tables: GraphTables, folder: Path) -> list[Path]:
    """Write the two files into a folder; return their paths."""
    columns = ["id", "reversed", *(["hosts"] if tables.noun == "domain" else [])]
    vertices, edges = folder / "vertices.txt.gz", folder / "edges.txt.gz"
    _write(vertices, tables.places.select(columns).iter_rows())
    numbers = tables.places.select(tables.noun, "id")
    ends = (
        tables.edges.join(numbers, left_on="source", right_on=tables.noun, maintain_order="left")
        .join(numbers, left_on="target", right_on=tables.noun, maintain_order="left", suffix="_to")
        .select("id", "id_to")
    )
    _write(edges, ends.iter_rows())
    return [vertices, edges]


def _write(path: Path, rows: Iterable[tuple[object, ...]]) -> None:
    with (
        whole_file(path) as stream,
        gzip.GzipFile("", "wb", _LEVEL, stream, mtime=0) as packed,
    ):
        for row in rows:
            line = "\t".join(str(cell) for cell in row)
            packed.write(line.replace("\n", " ").encode("utf-8", "replace") + b"\n")
