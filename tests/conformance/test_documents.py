"""Importing documents files gives the same archive as importing the archive files."""

from collections.abc import Mapping
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from nwx.engine.base import Engine
from nwx.facets.build import FacetBuildOptions, build_archive_facets
from nwx.importing import ImportOptions, ImportReport, import_files
from nwx.importing.extracted.documents_file import extracted_sources
from nwx.links.archive_links import ArchiveLinks
from nwx.links.build import InlinkBuildOptions, invert_links
from nwx.model import IndexName
from nwx.warc.sources import expand
from tests.conformance.archive import settings_of
from tests.conformance.engines import Opener
from tests.conformance.test_facets import cache
from tests.documents_files import write_documents
from tests.warc_records import FIELDS, http_response, outlink_lines, warc_bytes, write_records
from tests.warcs import Page, html, many_pages, write_warc

ABOVE_ENGINES = True

__all__ = ["cache"]

INDICES = (IndexName.DOCUMENTS, IndexName.CAPTURES, IndexName.DATES, IndexName.FILES)
"""The indices that an import writes."""

OPTIONS = ImportOptions(jobs=1)


def linking(number: int) -> Page:
    text = f'page <a href="http://www.example.org/{number % 5}">to {number % 3}</a>'
    return Page(f"http://l.example/{number}", "20150203000000", html("links", text))


def archive_files(folder: Path) -> list[Path]:
    """Write files with duplicates within and among them, links, distant outlinks, and damage."""
    folder.mkdir()
    pages = [*many_pages(12), *map(linking, range(8))]
    files = [write_warc(folder / f"{number}.warc.gz", pages[number * 4 :]) for number in range(3)]
    files[2].write_bytes(files[2].read_bytes() + b"garbage")
    records = [
        warc_bytes("response", http_response(b"p"), id=f"p{n}", url=f"http://o.example/{n}")
        for n in range(3)
    ]
    lines = outlink_lines("http://far.example/")
    names = {"url": "http://o.example/0", "content_type": FIELDS}
    records.append(warc_bytes("metadata", lines, id="m", WARC_Concurrent_To="<urn:x:p0>", **names))
    records.append(warc_bytes("metadata", lines, id="n", date="2015-01-01T00:00:00Z", **names))
    return [*files, write_records(folder / "outlinks.warc.gz", records)]


def everything(engine: Engine, reopen: Opener) -> Mapping[str, Any]:
    """Return all entries of an archive, including links and facets."""
    invert_links(engine, reopen, InlinkBuildOptions(workers=1))
    build_archive_facets(engine, FacetBuildOptions(min_captures=2))
    indices = (*INDICES, IndexName.FACETS, IndexName.INLINKS)
    found: dict[str, Any] = {name: list(engine.scan(name)) for name in indices}
    return found | {"links": list(ArchiveLinks(engine).rows())}


def loaded(engine: Engine, folder: Path, *, parts: int | None = None) -> ImportReport:
    """Import documents, or only the first `parts` batches of them."""
    found = extracted_sources([str(folder)])
    asked = count()
    return import_files(
        engine,
        settings_of(engine),
        found.sources,
        OPTIONS,
        stopping=lambda: parts is not None and next(asked) > parts,
    )


def test_an_archive_of_documents_is_that_of_the_files(
    open_archive: Opener, open_another: Opener, tmp_path: Path
) -> None:
    files = archive_files(tmp_path / "in")
    documents = write_documents(tmp_path / "documents", files)
    with open_archive() as engine:
        engine.create()
        report = import_files(engine, settings_of(engine), expand(map(str, files)), OPTIONS)
        expected = everything(engine, partial(open_archive))
    with open_another() as engine:
        engine.create()
        assert loaded(engine, documents, parts=4).interrupted
        again = loaded(engine, documents)
        assert not again.interrupted
        assert everything(engine, partial(open_another)) == expected
        assert loaded(engine, documents).outcomes == {"skipped": len(files)}
    assert (report.errors_by_kind, report.captures) == ({"gzip": 1}, 63)
