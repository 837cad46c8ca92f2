"""Questions about links: hosts, outlinks, hostile links, and checks of the built index."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nwx.bulk.arrays import read_arrays, write_arrays
from nwx.engine.base import Engine
from nwx.engine.inlinks.table import inlink_table
from nwx.errors import EngineBusyError, EngineError
from nwx.links import build as builds
from nwx.links.archive_links import ArchiveLinks, asked_place, outlinks_of
from nwx.links.build import InlinkBuildOptions, check_inlinks, invert_links
from nwx.maintenance.agreement import check
from nwx.model import Anchor, Batch, IndexName, Link, LinkCell
from tests.conformance.engines import Opener
from tests.conformance.test_facets import cache
from tests.conformance.test_inlinks import build
from tests.links import page, random_batches

ABOVE_ENGINES = True

__all__ = ["cache"]


def fill(engine: Engine, reopen: Opener, *batches: Batch) -> ArchiveLinks:
    for batch in batches:
        engine.write(batch)
    build(engine, reopen)
    return ArchiveLinks(engine)


def test_links_that_were_never_inverted_are_told(engine: Engine) -> None:
    with pytest.raises(EngineError, match="run `nwx invert-links`"):
        ArchiveLinks(engine)
    assert engine.count(IndexName.INLINKS) == 0
    assert list(engine.scan(IndexName.INLINKS)) == []


def test_a_host_has_the_links_from_others_to_all_its_urls(
    engine: Engine, open_archive: Opener
) -> None:
    links = fill(
        engine,
        open_archive,
        page("http://a.test/1", [("http://www.b.test/x", "B"), ("http://b.test:81/y", "B")]),
        page(
            "http://a.test/2", [("http://b.test/x", "other"), "http://sub.b.test/"], [("2012", "p")]
        ),
        page("http://b.test/in", [("http://b.test/x", "inside")]),
        page("http://bb.test/", ["http://b.testing.test/"]),
    ).of_host("b.test")
    counts = links.counts(LinkCell())
    assert (counts.documents, counts.hosts, counts.domains) == (2, 1, 1)
    assert counts.anchors == (Anchor("B", 1, 1), Anchor("other", 1, 1))
    assert (counts.first[:4], counts.last[:4]) == ("2010", "2012")
    assert [(target, one.url) for target, one in links.inlinks(LinkCell())] == [
        ("test,b)/x", "http://a.test/1"),
        ("test,b)/x", "http://a.test/2"),
        ("test,b:81)/y", "http://a.test/1"),
    ]
    assert links.counts(LinkCell(2012)).documents == 1
    assert links.counts(LinkCell(1999)).documents == 0


def test_outlinks_tell_what_was_captured(engine: Engine, open_archive: Opener) -> None:
    old = page("http://a.test/", ["http://old.test/"], [("2010", "web")], body="old")
    new = page(
        "http://a.test/",
        [("http://b.test/", "B"), "http://never.test/", "http://a.test/2"],
        [("2012", "web")],
        body="new",
    )
    for batch in (old, new, page("http://b.test/", [])):
        engine.write(batch)
    engine.refresh()
    place = asked_place("http://a.test/")
    found = [(one.url, one.captured) for one in outlinks_of(engine, place, LinkCell())]
    assert found == [
        ("http://b.test/", True),
        ("http://never.test/", False),
        ("http://a.test/2", False),
    ]
    found = [(one.url, one.captured) for one in outlinks_of(engine, place, LinkCell(2010))]
    assert found == [("http://old.test/", False)]
    found = [
        (one.url, one.captured) for one in outlinks_of(engine, asked_place("a.test"), LinkCell())
    ]
    assert found == [("http://b.test/", True), ("http://never.test/", False)]


def test_a_link_farm_is_counted_and_streamed(engine: Engine, open_archive: Opener) -> None:
    farm = [
        page(f"http://farm.test/{n}", [("http://t.test/", f"text {n % 300:03}")] * 3)
        for n in range(400)
    ]
    links = fill(engine, open_archive, *farm)
    counts = links.counts("test,t)/")
    assert counts is not None
    assert (counts.documents, counts.hosts, counts.domains) == (400, 1, 1)
    assert len(counts.anchors) == 100
    assert all(one.hosts == 1 for one in counts.anchors)
    assert counts.anchors[0] == Anchor("text 000", 2, 1)
    assert len(list(links.inlinks("test,t)/"))) == 400


def test_hostile_links_are_bounded_and_counted(engine: Engine, open_archive: Opener) -> None:
    hostile = [
        Link("javascript:alert(1)", "script"),
        Link("data:text/html,x", "data"),
        Link("http://[broken", "broken"),
        Link("mailto:someone@example.org", "mail"),
        Link("", "nothing"),
        Link("http://t.test/", "m" * 1_000_000),
        Link("http://t.test/", "\x00\x1b[31mred\u202eder\u2066\n\n two"),
        Link("http://t.test/" + "a/" * 500, "trap"),
        Link("http://trap.test/", "itself"),
        *[Link("http://t.test/", "again")] * 10_000,
    ]
    for batch in (page("http://trap.test/", hostile),):
        engine.write(batch)
    report = build(engine, open_archive)
    links = ArchiveLinks(engine)
    counts = links.counts("test,t)/")
    assert counts is not None
    assert counts.documents == 1
    assert counts.anchors == (
        Anchor("[31mredder two", 1, 1),
        Anchor("again", 1, 1),
        Anchor("m" * 1_000, 1, 1),
    )
    itself = links.counts("test,trap)/")
    assert itself is not None
    assert itself.documents == 0
    assert [one.text for one in links.inlinks("test,trap)/")] == ["itself"]
    assert report.refused + report.targets >= 4
    assert list(check(engine)) == []


def test_a_stopped_build_goes_on(
    engine: Engine, open_archive: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    for batch in random_batches(4):
        engine.write(batch)
    engine.refresh()
    monkeypatch.setattr(builds, "_AT_ONCE", 10)

    class StoppedError(Exception):
        """Stands for a kill."""

    def stop(progress: Any) -> None:
        if progress.step == "reading" and progress.done >= 20:
            raise StoppedError

    with pytest.raises(StoppedError):
        invert_links(engine, open_archive, InlinkBuildOptions(workers=1), stop)
    assert engine.count(IndexName.INLINKS) == 0
    report = invert_links(engine, open_archive, InlinkBuildOptions(workers=1))
    assert report.read == report.documents - 20
    assert list(check(engine)) == []


def test_two_builds_at_once_are_refused(engine: Engine, open_archive: Opener) -> None:
    engine.write(page("http://a.test/", ["http://b.test/"]))
    engine.refresh()

    def again(progress: Any) -> None:
        with pytest.raises(EngineBusyError):
            invert_links(engine, open_archive, InlinkBuildOptions(workers=1))

    invert_links(engine, open_archive, InlinkBuildOptions(workers=1), again)


def test_checks_find_counts_that_are_wrong(engine: Engine, open_archive: Opener) -> None:
    fill(engine, open_archive, *random_batches(5))
    assert list(check(engine)) == []
    index = engine.inlink_index()
    table = inlink_table(index)
    assert table is not None
    _spoil(index.folder / table.notes.ranges[0].blob)
    assert {one.index for one in check(engine)} == {"inlinks"}  # the checksum differs
    (found,) = {message for _, message in check_inlinks(engine)}
    assert found == "the counts are not those of its links"


def _spoil(path: Path) -> None:
    arrays = {name: np.array(one) for name, one in read_arrays(path).items()}
    arrays["count_documents"][0] += 1
    path.unlink()
    write_arrays(path, arrays)


def test_a_reader_keeps_its_build(engine: Engine, open_archive: Opener) -> None:
    links = fill(engine, open_archive, page("http://a.test/", ["http://b.test/"]))
    fill(engine, open_archive, page("http://c.test/", ["http://b.test/"]))
    before, after = links.counts("test,b)/"), ArchiveLinks(engine).counts("test,b)/")
    assert before is not None
    assert after is not None
    assert (before.documents, after.documents) == (1, 2)
