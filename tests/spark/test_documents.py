"""Documents extracted and links inverted by executors equal those of one machine."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pytest

from nwx.engine.base import open_engine
from nwx.exports.links import export_links
from nwx.importing import ImportOptions, import_files
from nwx.importing.extracted.documents_file import extracted_sources
from nwx.jobs.archive_files import extract_archives
from nwx.jobs.inputs import archive_inputs, documents_inputs
from nwx.jobs.links import invert_links_on
from nwx.links.archive_links import ArchiveLinks
from nwx.links.build import InlinkBuildOptions, invert_links
from nwx.links.inverted import InvertedLinks
from nwx.model import IndexName
from nwx.settings import Settings
from nwx.warc.sources import expand
from tests.conformance.test_documents import INDICES, archive_files

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

OPTIONS = ImportOptions(jobs=1)
TABLES = ("hosts", "host_links", "domains", "domain_links")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    found = archive_files(tmp_path / "in")
    (tmp_path / "in" / "broken.wacz").write_bytes(b"no zip")
    return [*found, tmp_path / "in" / "broken.wacz"]


def rows(folder: Path) -> list[dict[str, object]]:
    """Return the rows of all Parquet files in a folder, ordered by file name."""
    found = [pl.read_parquet(path) for path in sorted(folder.glob("*.parquet"))]
    return pl.concat(found).to_dicts()


def test_documents_and_links_are_those_of_one_machine(
    spark: "SparkSession", files: list[Path], tmp_path: Path
) -> None:
    documents, links = tmp_path / "documents", tmp_path / "links"
    inputs = archive_inputs([str(tmp_path / "in")])
    report = extract_archives(spark, inputs, str(documents), OPTIONS)
    assert (report.is_whole, report.counts["files"], report.errors_total) == (True, 4, 2)
    again = extract_archives(spark, inputs, str(documents), OPTIONS)
    assert (again.counts["files"], again.counts["skipped"]) == (0, 4)
    inverted = invert_links_on(spark, documents_inputs([str(documents)]), str(links))
    held: dict[str, dict[str, list[object]]] = {}
    for name, sources in (
        ("files", list(expand(map(str, files)))),
        ("documents", list(extracted_sources([str(documents)]).sources)),
    ):
        settings = Settings(str(tmp_path / name))
        with open_engine(settings) as engine:
            engine.create()
            import_files(engine, settings, sources, OPTIONS)
            held[name] = {index: list(engine.scan(index)) for index in INDICES}
            inverted_links = InvertedLinks(links) if name == "documents" else None
            built = invert_links(
                engine,
                partial(open_engine, settings, read_only=True),
                InlinkBuildOptions(workers=1, inverted=inverted_links),
            )
            held[name]["links"] = list(ArchiveLinks(engine).rows())
            held[name]["inlinks"] = inlinks = list(engine.scan(IndexName.INLINKS))
            if name == "files":
                export_links(engine, tmp_path / "export", ("links", "parquet"))
    assert held["documents"] == held["files"]
    assert (built.read, built.loaded) == (0, built.documents)
    assert rows(links / "links") == rows(tmp_path / "export" / "links")
    for table in TABLES:
        ours, theirs = (
            pl.read_parquet(folder / f"{table}.parquet") for folder in (links, tmp_path / "export")
        )
        assert ours.equals(theirs), table
    fields = ("urlkey", "documents", "hosts", "domains", "first", "last")
    whole = [one for one in inlinks if one["id"].count("/") == 0]
    assert rows(links / "targets") == [{name: one[name] for name in fields} for one in whole]
    assert inverted.is_whole
    assert inverted.counts["links"] == len(rows(links / "links"))
