"""Tables and graphs of links equal the sums of single rows, on every engine."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from nwx.engine.base import Engine
from nwx.errors import SourceError
from nwx.exports.links import export_links
from nwx.links.archive_links import ArchiveLinks
from nwx.model import LinkCell
from nwx.values.urls import host_of_urlkey
from tests.conformance.engines import Opener
from tests.conformance.test_facets import cache
from tests.conformance.test_inlinks import build
from tests.links import page, random_batches

ABOVE_ENGINES = True

__all__ = ["cache"]

CELLS = (LinkCell(), LinkCell(2009), LinkCell(None, "p"), LinkCell(2010, "q"), LinkCell(1999))


def test_tables_and_graphs_of_links(engine: Engine, open_archive: Opener) -> None:
    for batch in random_batches(11):
        engine.write(batch)
    build(engine, open_archive)
    links = ArchiveLinks(engine)
    rows = list(links.rows())
    for cell in CELLS:
        listed = [
            (one.urlkey, target, one.timestamp, one.kind, one.text)
            for target in sorted({row.target for row in rows})
            for one in links.inlinks(target, cell)
        ]
        frames = list(links.frames(cell))
        assert [row for frame in frames for row in frame.iter_rows()] == listed
        pairs = {(source, target) for source, target, *_ in listed if source != target}
        expected = Counter((host_of_urlkey(s), host_of_urlkey(t)) for s, t in pairs)
        graph = links.host_graph(cell)
        edges = {
            (graph.hosts[source], graph.hosts[target]): links
            for source, target, links in zip(
                graph.source.tolist(), graph.target.tolist(), graph.links.tolist(), strict=True
            )
        }
        own = {
            (host, host): links
            for host, links in zip(graph.hosts, graph.own_links.tolist(), strict=True)
            if links
        }
        assert edges | own == expected
    assert [tuple(row) for row in rows] == [
        row for frame in links.frames() for row in frame.iter_rows()
    ]


def test_an_export_has_all_forms(engine: Engine, open_archive: Opener, tmp_path: Path) -> None:
    engine.write(page("http://a.test/", ["http://b.test/", "http://sub.c.test/x"]))
    build(engine, open_archive)
    folder = tmp_path / "export"
    report = export_links(engine, folder)
    names = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    graphs = {f"{noun}s" for noun in ("host", "domain")}
    assert names == {
        "links/part-00000.parquet",
        *(f"{name}.{form}" for name in graphs for form in ("parquet", "csv", "gexf")),
        *(f"{name[:-1]}_links.{form}" for name in graphs for form in ("parquet", "csv")),
        *(f"web-graph/{name}/{file}.txt.gz" for name in graphs for file in ("vertices", "edges")),
    }
    assert (report.links, report.hosts, report.host_links, report.files) == (2, 3, 2, len(names))
    found = pl.read_parquet(folder / "links" / "part-00000.parquet")
    assert found.columns == ["source", "target", "timestamp", "kind", "anchor"]
    assert found["target"].to_list() == ["test,b)/", "test,c,sub)/x"]
    with pytest.raises(SourceError, match="already exists"):
        export_links(engine, folder)


def test_an_export_of_some_forms(engine: Engine, open_archive: Opener, tmp_path: Path) -> None:
    engine.write(page("http://a.test/", ["http://b.test/"]))
    build(engine, open_archive)
    report = export_links(engine, tmp_path / "none", ["csv"], LinkCell(1999))
    assert (report.links, report.hosts, report.files) == (0, 0, 4)
