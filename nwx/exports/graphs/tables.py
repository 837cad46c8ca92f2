"""Graphs as tables: one of hosts or domains, one of their links."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from nwx.bulk.whole_files import whole_file
from nwx.links.graphs.centrality import Centrality
from nwx.links.graphs.host_graph import HostGraph, reversed_host
from nwx.values.csv_cells import csv_line

_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True)
class GraphTables:
    """The hosts, or domains, of a graph with what is counted of them, and their links.

    `places` has the columns id, `host` or `domain`, reversed name, links and
    hosts in and out, own links and centralities; `edges` the columns source,
    target and links, by names.
    """

    noun: str
    places: pl.DataFrame
    edges: pl.DataFrame


def graph_tables(noun: str, graph: HostGraph, central: Centrality) -> GraphTables:
    """Return the tables of a graph of hosts or of domains, which `noun` names."""
    names = pl.Series(graph.hosts, dtype=pl.String)
    counted = [pl.Series("hosts", graph.members)] if noun == "domain" else []
    places = pl.DataFrame(
        [
            pl.Series("id", range(len(names)), dtype=pl.Int64),
            names.alias(noun),
            pl.Series("reversed", list(map(reversed_host, graph.hosts)), dtype=pl.String),
            *counted,
            pl.Series("links_in", graph.links_in()),
            pl.Series(f"{noun}s_in", graph.hosts_in()),
            pl.Series("links_out", graph.links_out()),
            pl.Series(f"{noun}s_out", graph.hosts_out()),
            pl.Series("own_links", graph.own_links),
            pl.Series("pagerank", central.pagerank),
            pl.Series("harmonic", central.harmonic),
        ]
    )
    edges = pl.DataFrame(
        [
            names.gather(graph.source).alias("source"),
            names.gather(graph.target).alias("target"),
            pl.Series("links", graph.links),
        ]
    )
    return GraphTables(noun, places, edges)


def write_parquet(tables: GraphTables, folder: Path) -> list[Path]:
    """Write `hosts.parquet` and `host_links.parquet`, or those of domains; return the paths."""
    paths = _paths(tables, folder, "parquet")
    for path, frame in zip(paths, (tables.places, tables.edges), strict=True):
        with whole_file(path) as stream:
            frame.write_parquet(stream)
    return paths


def write_csv(tables: GraphTables, folder: Path) -> list[Path]:
    """Write `hosts.csv` and `host_links.csv`, or those of domains, safe for spreadsheets."""
    paths = _paths(tables, folder, "csv")
    for path, frame in zip(paths, (tables.places, tables.edges), strict=True):
        with whole_file(path) as stream, io.TextIOWrapper(stream, "utf-8", newline="") as text:
            text.writelines(_csv_lines(frame))
    return paths


def _csv_lines(frame: pl.DataFrame) -> Iterator[str]:
    yield csv_line(frame.columns)
    for part in frame.iter_slices(_AT_ONCE):
        for row in part.iter_rows():
            yield csv_line(row)


def _paths(tables: GraphTables, folder: Path, ending: str) -> list[Path]:
    return [folder / f"{tables.noun}s.{ending}", folder / f"{tables.noun}_links.{ending}"]
