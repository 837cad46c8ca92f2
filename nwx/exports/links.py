"""Writing links out for other programs: all of them as Parquet, and graphs of hosts and domains."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.whole_files import whole_folder
from nwx.engine.base import Engine
from nwx.exports.link_graphs import (
    GraphTables,
    graph_tables,
    write_csv,
    write_gexf,
    write_parquet,
    write_web_graph,
)
from nwx.links.archive_links import ALL_LINKS, ArchiveLinks
from nwx.links.host_graph import HostGraph, centrality, domain_graph
from nwx.model import LinkCell
from nwx.values.urls import domain_of_host

LINKS, PARQUET, CSV, GEXF, WEB_GRAPH = "links", "parquet", "csv", "gexf", "web-graph"
LINK_FORMATS = (LINKS, PARQUET, CSV, GEXF, WEB_GRAPH)
"""What can be written: all links as Parquet, and the graphs in four forms."""


@dataclass(frozen=True, slots=True)
class LinkExportReport:
    """What an export of links wrote; `is_exact` tells that no centrality was estimated."""

    links: int
    hosts: int
    host_links: int
    domains: int
    domain_links: int
    is_exact: bool
    files: int
    bytes: int
    seconds: float


def export_links(
    engine: Engine,
    folder: Path,
    formats: Collection[str] = LINK_FORMATS,
    cell: LinkCell = ALL_LINKS,
    progress: ShowProgress = no_progress,
) -> LinkExportReport:
    """Write the links of a cell as they were last inverted, in some of LINK_FORMATS.

    The folder is there when all of it is. Raises SourceError where it is
    there already, or cannot be written, and EngineError where links were
    never inverted.
    """
    began = time.monotonic()
    links = ArchiveLinks(engine)
    with whole_folder(folder) as new:
        export = _Export(links, new, frozenset(formats), cell, progress)
        count = export.links()
        hosts, domains = export.graphs()
    files = [path for path in folder.rglob("*") if path.is_file()]
    return LinkExportReport(
        links=count,
        hosts=len(hosts.hosts),
        host_links=len(hosts.links),
        domains=len(domains.hosts),
        domain_links=len(domains.links),
        is_exact=export.is_exact,
        files=len(files),
        bytes=sum(path.stat().st_size for path in files),
        seconds=time.monotonic() - began,
    )


class _Export:
    """One export on its way into a folder."""

    def __init__(
        self,
        links: ArchiveLinks,
        folder: Path,
        formats: frozenset[str],
        cell: LinkCell,
        progress: ShowProgress,
    ) -> None:
        self._links, self._folder, self._formats = links, folder, formats
        self._cell, self._progress = cell, progress
        self.is_exact = True

    def links(self) -> int:
        """Write all links, a file for each range of linked URLs; return how many there are."""
        if LINKS not in self._formats:
            return 0
        into = self._folder / "links"
        into.mkdir()
        count = 0
        for number, frame in enumerate(self._links.frames(self._cell)):
            frame.write_parquet(into / f"part-{number:05}.parquet")
            count += len(frame)
            self._progress(WorkProgress("writing links", count))
        return count

    def graphs(self) -> tuple[HostGraph, HostGraph]:
        """Write the graphs of hosts and of domains; return them."""
        self._progress(WorkProgress("counting hosts", 0))
        hosts = self._links.host_graph(self._cell)
        domains = domain_graph(hosts, domain_of_host)
        if self._formats - {LINKS}:
            self._write("host", hosts)
            self._write("domain", domains)
        return hosts, domains

    def _write(self, noun: str, graph: HostGraph) -> None:
        self._progress(WorkProgress(f"ranking {noun}s", 0))
        central = centrality(graph)
        self.is_exact = self.is_exact and central.is_exact
        tables = graph_tables(noun, graph, central)
        if PARQUET in self._formats:
            write_parquet(tables, self._folder)
        if CSV in self._formats:
            write_csv(tables, self._folder)
        if GEXF in self._formats:
            self._write_gexf(tables)
        if WEB_GRAPH in self._formats:
            into = self._folder / "web-graph" / f"{noun}s"
            into.mkdir(parents=True)
            write_web_graph(tables, into)

    def _write_gexf(self, tables: GraphTables) -> None:
        which = ", ".join(
            part
            for part in (
                f"collection {self._cell.collection}" if self._cell.collection else "",
                f"year {self._cell.year}" if self._cell.year is not None else "",
            )
            if part
        )
        description = f"Links between {tables.noun}s" + (f" ({which})" if which else "")
        path = self._folder / f"{tables.noun}s.gexf"
        write_gexf(tables, path, description, datetime.now(UTC).date())
