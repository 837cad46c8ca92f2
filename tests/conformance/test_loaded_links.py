"""Loading links inverted elsewhere equals inverting them in the archive, on every engine."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from nwx.engine.base import Engine
from nwx.errors import SourceError
from nwx.links.archive_links import ArchiveLinks
from nwx.links.build import InlinkBuildOptions, InlinkBuildReport, invert_links
from nwx.links.inverted import InvertedLinks
from nwx.model import Document, IndexName, Link
from tests.conformance.engines import Opener
from tests.conformance.test_facets import cache
from tests.conformance.test_inlinks import build, check
from tests.inverted_links import write_inverted
from tests.links import page, random_batches

ABOVE_ENGINES = True

__all__ = ["cache"]


def load(engine: Engine, reopen: Opener, inverted: InvertedLinks) -> InlinkBuildReport:
    return invert_links(engine, reopen, InlinkBuildOptions(workers=1, inverted=inverted))


def dumped(engine: Engine) -> dict[str, list[Any]]:
    """Return all stored data about the links of an archive."""
    links = ArchiveLinks(engine)
    graph = links.host_graph()
    return {
        "inlinks": list(engine.scan(IndexName.INLINKS)),
        "links": list(links.rows()),
        "host_links": list(links.host_links()),
        "hosts": list(graph.hosts),
        "graph": [graph.source.tolist(), graph.target.tolist(), graph.links.tolist()],
    }


def with_links(document: Document, *urls: str) -> Document:
    links = tuple(Link(url, "elsewhere") for url in urls)
    return replace(document, extract=replace(document.extract, links=links))


def test_loaded_links_are_those_of_the_archive(
    engine: Engine, open_archive: Opener, tmp_path: Path
) -> None:
    """Links missing in the folder, or from other captures, are read from the archive."""
    batches = random_batches(5)
    for batch in batches:
        engine.write(batch)
    build(engine, open_archive)
    plain = dumped(engine)
    documents = [one for batch in batches for one in batch.documents]
    later = documents[0].capture
    folder = [
        with_links(
            replace(documents[0], capture=replace(later, timestamp="20300101")), "http://x/"
        ),
        with_links(documents[1]),  # its outlinks were in another file
        *documents[2:30],
        *page("http://gone.test/", ["http://x/"]).documents,
    ]
    unmet = [(documents[1].capture.url, documents[1].capture.timestamp)]
    report = load(engine, open_archive, write_inverted(tmp_path / "links", folder, unmet))
    assert (report.loaded, report.read) == (28, 12)
    assert dumped(engine) == plain
    check(engine, batches)
    batches.append(page("http://new.test/", ["http://x/"]))
    engine.write(batches[-1])
    again = build(engine, open_archive)
    assert (again.read, again.loaded) == (1, 0)
    check(engine, batches)


def test_links_of_other_documents_are_refused(
    engine: Engine, open_archive: Opener, tmp_path: Path
) -> None:
    engine.write(page("http://here.test/", ["http://x/"]))
    [elsewhere] = page("http://there.test/", ["http://x/"]).documents
    with pytest.raises(SourceError, match="import what the links were made from first"):
        load(engine, open_archive, write_inverted(tmp_path / "links", [elsewhere]))
    assert engine.inlink_index().current() is None
