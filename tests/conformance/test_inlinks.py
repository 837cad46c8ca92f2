"""Inverted links: counts by cell equal a brute force on every engine and after every change."""

from collections.abc import Iterator

import pytest

from nwx.engine.base import Engine
from nwx.keys import document_id, document_key
from nwx.links.archive_links import ArchiveLinks
from nwx.links.build import InlinkBuildOptions, InlinkBuildReport, invert_links
from nwx.model import Batch, Dates, Document, IndexName, LinkCell
from tests.conformance.engines import Opener
from tests.conformance.test_facets import cache
from tests.links import brute_force, page, random_batches

ABOVE_ENGINES = True

__all__ = ["cache"]


def build(engine: Engine, reopen: Opener, *, anew: bool = False) -> InlinkBuildReport:
    engine.refresh()
    return invert_links(engine, reopen, InlinkBuildOptions(workers=1, anew=anew))


def held(engine: Engine, batches: list[Batch]) -> Iterator[tuple[Document, Dates]]:
    """Yield the documents of the archive with their dates."""
    ids = {
        document_id(document_key(one.capture.url, one.capture.digest))
        for batch in batches
        for one in batch.documents
    }
    dates = engine.dates(sorted(ids))
    for id, one in engine.documents(sorted(ids)).items():
        yield one, dates[id]


def check(engine: Engine, batches: list[Batch]) -> None:
    expected = brute_force(held(engine, batches))
    links = ArchiveLinks(engine)
    assert links.is_current()
    targets = {target for target, _ in expected}
    assert {row.target for row in links.rows()} == targets
    for (target, cell), (counts, listed) in expected.items():
        assert links.counts(target, cell) == counts, (target, cell)
        found = [one._replace(url="") for one in links.inlinks(target, cell)]
        assert found == listed, (target, cell)
    for target in targets:
        assert links.counts(target, LinkCell(1999)) is not None
    assert links.counts("org,example)/nowhere") is None
    entries = list(engine.scan(IndexName.INLINKS))
    counted = {key: counts for key, (counts, _) in expected.items() if counts.documents}
    assert engine.count(IndexName.INLINKS) == len(entries) == len(counted)
    for entry in entries:
        cell = LinkCell(entry.get("year"), entry.get("collection", ""))
        counts = counted[entry["urlkey"], cell]
        assert entry["documents"] == counts.documents
        assert entry.get("anchors", []) == [one.text for one in counts.anchors]


@pytest.mark.parametrize("seed", range(3))
def test_counts_equal_a_brute_force(engine: Engine, open_archive: Opener, seed: int) -> None:
    batches = random_batches(seed)
    for batch in batches:
        engine.write(batch)
    build(engine, open_archive)
    check(engine, batches)


def test_later_builds_read_only_what_changed(engine: Engine, open_archive: Opener) -> None:
    batches = random_batches(7)
    for batch in batches[:30]:
        engine.write(batch)
    first = build(engine, open_archive)
    assert first.read == first.documents
    for batch in batches[30:]:
        engine.write(batch)
    assert not ArchiveLinks(engine).is_current()
    second = build(engine, open_archive)
    assert second.read == len(batches) - 30
    check(engine, batches)
    third = build(engine, open_archive)
    assert third.read == 0
    anew = build(engine, open_archive, anew=True)
    assert anew.read == anew.documents == second.documents
    check(engine, batches)


def test_links_of_deleted_documents_go_with_the_next_build(
    engine: Engine, open_archive: Opener
) -> None:
    batches = random_batches(8)
    for batch in batches:
        engine.write(batch)
    build(engine, open_archive)
    gone = [one.capture.document_id for batch in batches[:10] for one in batch.documents]
    engine.delete(IndexName.DOCUMENTS, gone)
    report = build(engine, open_archive)
    assert report.read == 0
    check(engine, batches)
    everything = [one.capture.document_id for batch in batches for one in batch.documents]
    engine.delete(IndexName.DOCUMENTS, everything)
    report = build(engine, open_archive)
    assert (report.documents, report.links, report.targets) == (0, 0, 0)
    check(engine, batches)


def test_links_are_of_all_dates_of_a_document(engine: Engine, open_archive: Opener) -> None:
    batches = [page("http://a.test/", ["http://b.test/"])]
    engine.write(batches[0])
    build(engine, open_archive)
    (document,) = batches[0].documents
    key = document_key(document.capture.url, document.capture.digest)
    engine.append_dates([Dates(key, (("20140102030405", "other"),))])
    report = build(engine, open_archive)
    assert report.read == 1
    check(engine, batches)
    counts = ArchiveLinks(engine).counts("test,b)/", LinkCell(2014, "other"))
    assert counts is not None
    assert (counts.first, counts.last) == ("20140102030405", "20140102030405")


def test_dates_of_attached_indices_count(engine: Engine, open_archive: Opener) -> None:
    batches = [page("http://a.test/", ["http://b.test/"])]
    engine.write(batches[0])
    (document,) = batches[0].documents
    key = document_key(document.capture.url, document.capture.digest)
    engine.append_dates([Dates(key, (("20140102030405", "other"),))], into="more")
    build(engine, open_archive)
    check(engine, batches)
    engine.append_dates([Dates(key, (("20150102030405", "other"),))], into="more")
    engine.refresh()
    assert not ArchiveLinks(engine).is_current()
    build(engine, open_archive)
    check(engine, batches)
    counts = ArchiveLinks(engine).counts("test,b)/", LinkCell())
    assert counts is not None
    assert counts.last == "20150102030405"
