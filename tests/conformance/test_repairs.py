"""Repairs: missing resources that fix most pages, compared with plain Python, on every engine."""

import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
import pytest

from nwx.engine.base import Engine
from nwx.engine.indices.quality_index import Fault, PlaybackScore
from nwx.engine.inlinks.table import inlink_table
from nwx.keys import capture_id
from nwx.links.missing_urls import PageFilter
from nwx.links.needed_urls import needed_urls, needing_pages
from nwx.model import Batch, Capture, Link
from nwx.quality.missing_resources import RepairLimits, RepairQuestion
from nwx.quality.repair_list import USUAL_REPAIR_LIMITS, Repair, RepairList
from nwx.values.render_names import FaultKind
from nwx.values.urlkeys import urlkey
from nwx.values.urls import CSS, IMG, SCRIPT, STYLESHEET
from tests.conformance.archive import capture
from tests.conformance.engines import Opener
from tests.conformance.test_facets import cache
from tests.conformance.test_inlinks import build
from tests.links import page

ABOVE_ENGINES = True

__all__ = ["cache"]

_WHOLE = 26_771_144_400
Lacking = Mapping[str, set[str]]
"""Missing resources of each page, by urlkey."""


def listed(
    engine: Engine,
    question: RepairQuestion | None = None,
    limits: RepairLimits = USUAL_REPAIR_LIMITS,
) -> list[Repair]:
    return list(RepairList(engine, question or RepairQuestion(), limits).repairs())


def score(of: Capture, missing: Iterable[str], kind: str = FaultKind.MISSING) -> PlaybackScore:
    """Return the score of a page with missing resources."""
    faults = tuple(Fault(kind, url, 404) for url in missing)
    return PlaybackScore(
        id=capture_id(of.collection, of.source_file, of.source_file_offset),
        collection=of.collection,
        url=of.url,
        urlkey=of.urlkey,
        host=of.host,
        domain=of.domain,
        timestamp=of.timestamp,
        checked="20260101000000",
        rules="1",
        score=0.5,
        faults=faults,
        faults_total=len(faults),
        resources=tuple(sorted({urlkey(url) for url in missing if url.startswith("http")})),
    )


def plain_order(linked: Lacking, checked: Lacking) -> list[tuple[str, int, int, int]]:
    """Return urlkey, pages, pages made complete and checked pages of each resource, in order."""
    lacking = {one: linked.get(one, set()) | checked.get(one, set()) for one in {*linked, *checked}}
    pages: dict[str, int] = defaultdict(int)
    for missing in lacking.values():
        for one in missing:
            pages[one] += 1
    of_links = {one for missing in linked.values() for one in missing}
    left = {one: set(missing) for one, missing in lacking.items()}
    steps: list[tuple[str, int, int, int]] = []
    while len(steps) < len(pages):
        done = {step[0] for step in steps}
        counted = {
            one: sum(_WHOLE // len(missing) for missing in left.values() if one in missing)
            for one in pages
            if one not in done
        }
        best = min(counted, key=lambda one: (-counted[one], -pages[one], one not in of_links, one))
        whole = sum(missing == {best} for missing in left.values())
        for missing in left.values():
            missing.discard(best)
        missed = sum(best in missing for missing in checked.values())
        steps.append((best, pages[best], whole, missed))
    return steps


@pytest.mark.parametrize("seed", range(3))
def test_the_order_is_that_of_plain_python(engine: Engine, open_archive: Opener, seed: int) -> None:
    chance = random.Random(seed)
    resources = [f"http://{host}/r{n}.png" for host in ("a.test", "b.test") for n in range(5)]
    linked: dict[str, set[str]] = defaultdict(set)
    checked: dict[str, set[str]] = defaultdict(set)
    scores = []
    captured = set(resources[:2])
    for number in range(25):
        url = f"http://x.test/p{number % 15}"
        links = [Link(chance.choice(resources), "", IMG) for _ in range(chance.randrange(4))]
        batch = page(url, links, [(f"20{number:02}", "web")], body=str(number))
        engine.write(batch)
        linked[urlkey(url)] |= {urlkey(one.url) for one in links if one.url not in captured}
        if number % 2 and seed:
            missing = chance.sample([*resources, "http://c.test/x.js"], chance.randrange(4))
            scores.append(score(batch.captures[0], missing))
            checked[urlkey(url)] |= {urlkey(one) for one in missing if one not in captured}
    engine.write(Batch(captures=(capture(resources[0], "2010"),)))
    failed = capture(resources[2], "2010", status=500, offset=9)
    engine.write(Batch(captures=(failed, capture(resources[1], "2011", offset=8))))
    engine.quality_index().put(scores)
    build(engine, open_archive)
    answer = listed(engine)
    found = [(urlkey(one.url), one.pages, one.whole, one.checked) for one in answer]
    assert found == plain_order(linked, checked)
    statuses = {one.url: one.status for one in answer}
    assert statuses.pop(resources[2], 500) == 500
    assert set(statuses.values()) <= {None}


def test_without_links_checks_are_enough(engine: Engine) -> None:
    a, b = capture("http://x.test/a", "2010"), capture("http://x.test/b", "2011", offset=2)
    engine.write(Batch(captures=(a, b)))
    engine.refresh()
    both, script = "http://x.test/s.css", "http://y.test/s.js"
    engine.quality_index().put(
        [score(a, [both]), score(b, [both, script, "http://x.test/b", "not a url"])]
    )
    found = RepairList(engine, RepairQuestion())
    assert list(found.repairs()) == [
        Repair(both, STYLESHEET, 2, 1, 2, None),
        Repair(script, SCRIPT, 1, 1, 1, None),
    ]
    counts = found.counts()
    assert (counts.pages, counts.resources, counts.checked) == (2, 2, 2)
    assert not counts.linked


def test_pages_stay_broken_that_lack_what_has_no_url(engine: Engine) -> None:
    """For pages with many faults, only urlkeys are stored of some resources."""
    a, b = capture("http://x.test/a", "2010"), capture("http://x.test/b", "2011", offset=2)
    engine.write(Batch(captures=(a, b)))
    engine.refresh()
    sheet, lost = "http://x.test/s.css", "test,x)/lost.png"
    of_a = score(a, [sheet])
    engine.quality_index().put(
        [replace(of_a, resources=(*of_a.resources, lost)), score(b, [sheet])]
    )
    found = RepairList(engine, RepairQuestion())
    assert list(found.repairs()) == [Repair(sheet, STYLESHEET, 2, 1, 2, None)]
    counts = found.counts()
    assert (counts.pages, counts.resources, counts.left_out) == (2, 1, 1)


def test_nothing_is_known_of_a_new_archive(engine: Engine) -> None:
    found = RepairList(engine, RepairQuestion())
    assert list(found.repairs()) == []
    assert (found.counts().pages, found.counts().checked) == (0, 0)
    assert found.is_current()


def test_what_was_captured_since_is_left_out(engine: Engine) -> None:
    of = capture("http://x.test/a", "2010")
    engine.write(Batch(captures=(of,)))
    engine.refresh()
    missing = ["http://x.test/1.png", "http://x.test/2.png"]
    engine.quality_index().put([score(of, missing, FaultKind.FAILED)])
    assert [one.url for one in listed(engine)] == missing
    engine.write(Batch(captures=(capture("https://www.x.test/1.png", "2012", offset=5),)))
    engine.refresh()
    assert listed(engine) == [Repair(missing[1], IMG, 1, 1, 1, None)]


def test_faults_that_no_capture_mends_are_left_out(engine: Engine) -> None:
    of = capture("http://x.test/a", "2010")
    engine.write(Batch(captures=(of,)))
    engine.quality_index().put([score(of, ["http://x.test/1.png"], FaultKind.LEAK)])
    assert listed(engine) == []


def test_filters(engine: Engine, open_archive: Opener) -> None:
    sheet, picture = "http://cdn.test/s.css", "http://x.test/i.png"
    links = [Link(sheet, "", STYLESHEET), Link(picture, "", IMG)]
    engine.write(page("http://x.test/a", links, [("2010", "web")]))
    checked = capture("http://y.test/b", "2012", collection="more", offset=3)
    engine.write(Batch(captures=(checked,)))
    engine.quality_index().put([score(checked, [sheet, "http://y.test/thing"])])
    build(engine, open_archive)

    def urls(question: RepairQuestion) -> list[str]:
        return [one.url for one in listed(engine, question)]

    assert urls(RepairQuestion()) == [sheet, picture, "http://y.test/thing"]
    assert urls(RepairQuestion(kinds=frozenset({STYLESHEET}))) == [sheet]
    assert urls(RepairQuestion(host="test")) == [sheet, picture, "http://y.test/thing"]
    assert urls(RepairQuestion(host="cdn.test")) == [sheet]
    assert urls(RepairQuestion(PageFilter(site="x.test"))) == [sheet, picture]
    assert urls(RepairQuestion(PageFilter(collection="more"))) == [sheet, "http://y.test/thing"]
    until = PageFilter(until="20111231235959")
    assert urls(RepairQuestion(until)) == [sheet, picture]


def test_pages_lack_what_their_style_sheets_load(engine: Engine, open_archive: Opener) -> None:
    for number in range(3):
        engine.write(page(f"http://x.test/{number}", [Link("http://x.test/s.css", "", STYLESHEET)]))
    engine.write(page("http://x.test/s.css", [Link("http://x.test/sky.png", "", CSS)]))
    build(engine, open_archive)
    assert listed(engine) == [Repair("http://x.test/sky.png", CSS, 3, 3, 0, None)]


def test_style_sheets_that_all_import_each_other(engine: Engine, open_archive: Opener) -> None:
    """There are too many paths through them to follow each one."""
    urls = [f"http://x.test/{number}.css" for number in range(40)]
    for url in urls:
        links = [Link(other, "", STYLESHEET) for other in urls if other != url]
        engine.write(page(url, [*links, Link("http://x.test/sky.png", "", CSS)]))
    engine.write(page("http://x.test/", [Link(urls[0], "", STYLESHEET)]))
    build(engine, open_archive)
    assert listed(engine) == [Repair("http://x.test/sky.png", CSS, 1, 1, 0, None)]


def test_pairs_come_in_pieces(engine: Engine, open_archive: Opener) -> None:
    """A style sheet makes a pair of each of its links with each page that loads it."""
    for number in range(3):
        engine.write(page(f"http://x.test/{number}", [Link("http://x.test/s.css", "", STYLESHEET)]))
    pictures = [Link(f"http://x.test/{number}.png", "", CSS) for number in range(4)]
    engine.write(page("http://x.test/s.css", pictures))
    build(engine, open_archive)
    table = inlink_table(engine.inlink_index())
    assert table is not None
    documents = PageFilter().passing_documents(engine, table)
    needed = needed_urls(table, {CSS}, documents)
    (whole,) = needing_pages(needed, {CSS}, documents)
    pieces = list(needing_pages(needed, {CSS}, documents, at_once=3))
    assert max(len(places) for places, _ in pieces) == 3
    for column in range(2):
        assert np.concatenate([piece[column] for piece in pieces]).tolist() == (
            whole[column].tolist()
        )


def test_limits_are_told(engine: Engine, open_archive: Opener) -> None:
    """Pairs beyond the memory limit leave pages incomplete, and are counted."""
    one, other = "http://x.test/1.png", "http://x.test/2.png"
    engine.write(page("http://x.test/a", [Link(one, "", IMG), Link(other, "", IMG)]))
    engine.write(page("http://x.test/b", [Link(one, "", IMG)]))
    build(engine, open_archive)
    found = RepairList(engine, RepairQuestion(), RepairLimits(pairs=2))
    assert list(found.repairs()) == [Repair(one, IMG, 2, 1, 0, None)]
    assert (found.counts().pages, found.counts().left_out) == (2, 1)
    found = RepairList(engine, RepairQuestion(), RepairLimits(looked_up=1))
    assert list(found.repairs()) == [Repair(one, IMG, 2, 2, 0, None)]
    assert found.counts().unseen == 1


def test_the_targets_of_redirects_are_listed(engine: Engine, open_archive: Opener) -> None:
    moved = [Link(f"http://a.test/{name}.png", "", IMG) for name in ("old", "older", "found")]
    for number in range(3):
        engine.write(page(f"http://a.test/{number}", moved[: number + 1]))
    direct = [Link(f"http://{at}.png", "", IMG) for at in ("s.test/new", "s.test/direct")]
    engine.write(page("http://a.test/itself", direct))
    checked = page("http://a.test/checked", [])
    engine.write(checked)
    ways = {"old": direct[0].url, "older": "http://a.test/old.png", "found": "http://s.test/there"}
    ways["to-direct"] = direct[1].url
    for name, target in ways.items():
        one = capture(f"http://a.test/{name}.png", "2011", status=302, redirect_to=target)
        engine.write(Batch(captures=(one,)))
    engine.write(page("http://a.test/3", [Link("http://a.test/to-direct.png", "", IMG)]))
    engine.write(Batch(captures=(capture("http://s.test/there", "2011"),)))
    missed = ["http://a.test/old.png", "http://a.test/to-direct.png"]
    engine.quality_index().put([score(checked.captures[0], missed)])
    engine.refresh()
    build(engine, open_archive)
    assert listed(engine) == [
        Repair(direct[0].url, IMG, pages=5, whole=3, checked=1, status=None),
        Repair(direct[1].url, IMG, pages=3, whole=3, checked=1, status=None),
    ]
    assert listed(engine, RepairQuestion(host="a.test")) == []
    counts = RepairList(engine, RepairQuestion()).counts()
    assert (counts.pages, counts.resources, counts.left_out) == (6, 2, 0)
